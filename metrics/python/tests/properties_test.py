"""What every metric must hold, whatever it computes: one table of properties, drawn inputs, all devices that there are.

DEVSAN_FULL=1 draws many more.
"""

import contextlib
import os
import random

import pytest
import torch

from common import NAMES, Operators, arguments_of, assert_same, batch, joined, kind_of, make, moved, tensors

FULL = "DEVSAN_FULL" in os.environ
DRAWS = 20 if FULL else 1
DEVICES = ["cpu", *(f"cuda:{i}" for i in range(1, torch.cuda.device_count()))]
# By definition of the last updates, or a list in the order of the updates.
ORDERED = ("RunningMean", "RunningSum", "CatMetric")
# Sums of several orders, of numbers and of their squares.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def drawn(seed, low=3):
    return random.Random(seed), low + random.Random(seed + 1).randrange(20)


def value(name, batches, device="cpu", scope=contextlib.nullcontext, **more):
    """Of a metric that has seen the batches, within the scope."""
    metric = make(name, **more)
    with scope():
        for inputs in batches:
            metric.update(*moved(inputs, device))
        result = metric.compute()
    for tensor in tensors(result):
        assert not tensor.requires_grad and not tensor.is_inference() and tensor.device == torch.device(device)
    return moved(result, "cpu") if isinstance(result, (dict, torch.Tensor)) else [tensor.cpu() for tensor in tensors(result)]


def parts_of(name, inputs, sizes):
    """The samples of a batch in several batches."""
    start, parts = 0, []
    for size in sizes:
        parts.append(tuple(tensor[start : start + size] for tensor in inputs))
        start += size
    return parts


def permuted(inputs, order):
    return tuple([entries[i] for i in order] if isinstance(entries, list) else entries[order] for entries in inputs)


def split(name, inputs, n, draw, device):
    """How the samples come in batches does not matter."""
    if name.startswith("Running"):
        return
    cuts = sorted(draw.randrange(n + 1) for _ in range(3))
    sizes = [after - before for before, after in zip([0, *cuts], [*cuts, n])]  # some of them 0
    assert_same(value(name, parts_of(name, inputs, sizes), device), value(name, [inputs], device), **CLOSE)


def order(name, inputs, n, draw, device):
    """Nor in which order."""
    if name in ORDERED:
        return
    places = draw.sample(range(n), n)
    other = permuted(inputs, places)
    assert_same(value(name, [other], device), value(name, [inputs], device), **CLOSE)


def merge(name, inputs, n, draw, device):
    """Merged metrics are one that has seen all, idle ones included."""
    if name.startswith("Running"):
        return
    middle = draw.randrange(n + 1)
    whole, total = value(name, [inputs], device), make(name)
    for part in (*parts_of(name, inputs, [middle, n - middle]), None):
        metric = make(name)
        if part is not None:
            metric.update(*moved(part, device))
        total.merge_state(metric)
    assert_same([tensor.cpu() for tensor in tensors(total.compute())], whole, **CLOSE)


def modes(name, inputs, n, draw, device):
    """The mode that PyTorch is in changes nothing, nor does a graph of the inputs."""
    plain = value(name, [inputs, inputs], device)
    kind = torch.device(device).type
    for scope in (torch.no_grad, torch.inference_mode, torch.enable_grad, lambda: torch.autocast(kind, torch.bfloat16)):
        assert_same(value(name, [inputs, inputs], device, scope), plain, 0, 0)
    tracked = moved(inputs, device)
    if not any(isinstance(entries, list) for entries in tracked):
        tracked = tuple(entries.detach().clone().requires_grad_() if entries.is_floating_point() else entries for entries in tracked)
        assert_same(value(name, [tracked, tracked], device), plain, 0, 0)


def devices(name, inputs, n, draw, device):
    """The CPU's loops and the operators of a device give one value."""
    assert_same(value(name, [inputs, inputs], device), value(name, [inputs, inputs]), **CLOSE)


def weights(name, inputs, n, draw, device):
    """A sample of weight 0 is not there, and one of weight 2 is there twice; nothing but such samples are no samples."""
    kind = kind_of(name)
    if "weight" not in kind.inputs or name in ORDERED:
        return
    more = {"weighted": True} if "weighted" in arguments_of(kind) else {}
    inputs = inputs[: len(kind.inputs) - 1]
    weight = torch.tensor([float(draw.randrange(3)) for _ in range(n)])
    times = weight.view(-1, *[1] * (inputs[1].dim() - 1)).expand_as(inputs[1]) if name == "Perplexity" else weight  # of each token
    of_samples = permuted(inputs, [i for i in range(n) for _ in range(int(weight[i]))])
    if weight.any():
        given = [(*inputs, times)]
        if name == "MeanMetric":
            of_samples = (*of_samples, torch.ones(len(of_samples[0])))
        assert_same(value(name, given, device, **more), value(name, [of_samples], device, **more), **CLOSE)
        assert_same(value(name, [*given, (*inputs, 0 * times)], device, **more), value(name, given, device, **more), 1e-6, 1e-7)
    nothing = permuted(inputs, [])
    empty = make(name, **more)
    empty.update(*moved((*nothing, times[:0]), device))
    zero = make(name, **more)
    zero.update(*moved((*inputs, 0 * times), device))
    if not name.endswith("exact"):  # whose points are the samples
        assert_same(zero.compute(), empty.compute(), 0, 0)


PROPERTIES = (split, order, merge, modes, devices, weights)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_properties(name, device):
    for seed in range(DRAWS):
        draw, n = drawn(seed * 1000 + sum(map(ord, name)))
        inputs = batch(name, n, torch.Generator().manual_seed(seed))
        for holds in PROPERTIES:
            if holds is not devices or device != "cpu":
                holds(name, inputs, n, draw, device)


@pytest.mark.parametrize("name", NAMES)
def test_operators_do_not_grow(name):
    """On a device each costs more than the work of a small batch."""

    def work(n):
        metric = make(name)
        inputs = moved(batch(name, n, torch.Generator().manual_seed(n)), "meta")
        metric.update(*inputs)
        with Operators() as operators:
            metric.update(*inputs)
        return sorted(operators.work())

    assert work(3) == work(17)


def compiled(name):
    metric, plain = make(name), make(name)

    def step(*inputs):
        metric.update(*(entries * 1 if torch.is_tensor(entries) and entries.is_floating_point() else entries for entries in inputs))

    compiled_step = torch.compile(step, backend="eager")
    for seed in range(2):
        inputs = batch(name, 6, torch.Generator().manual_seed(seed))
        compiled_step(*inputs)
        plain.update(*inputs)
    assert_same(metric.compute(), plain.compute(), 0, 0)


@pytest.mark.filterwarnings("ignore")
def test_updates_in_what_is_compiled():  # outside of the graph: the rest of the function is compiled
    for name in NAMES if FULL else NAMES[::40]:
        torch.compiler.reset()
        compiled(name)
