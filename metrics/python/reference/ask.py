"""What a class of devsan.metrics tells when it is asked: by making it with one argument or the other, by updating and merging it, on
tensors without data and on empty ones."""

import contextlib
import functools
import re
import sys
import warnings
from pathlib import Path

import torch
import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.model import DispatchKey

METRICS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(METRICS / "python/tests"))
import common  # noqa: E402

import devsan.metrics as ours  # noqa: E402

FRECHET = "FrechetInceptionDistance"
# Of integer arguments: a value, and another one, by which the sizes that follow from it are known.
SIZES = {"num_classes": (5, 7), "num_labels": (5, 7), "thresholds": (11, 14), "n_bins": (15, 19), "window": (5, 8), "num_outputs": (1, 3),
         "num_features": (4, 6)}  # fmt: skip
CATEGORIES = {"things": ([1, 4], [1, 4, 6])}
# That what has seen nothing is not to be warned of here.
warnings.filterwarnings("ignore")


@contextlib.contextmanager
def classes(number):
    """Batches of so many classes."""
    before, common.CLASSES = common.CLASSES, number
    try:
        yield
    finally:
        common.CLASSES = before


def made(name, **options):
    needed = {"num_features": 4} if name == FRECHET else common.options(name)
    return common.metric_class(name)(**(needed | options))


def batch(name, n, seed=0, **options):
    """Inputs of update() for a metric of these options."""
    generator = torch.Generator().manual_seed(seed)
    if name == FRECHET:
        return torch.rand(n, options.get("num_features", 4), generator=generator), True
    with classes(options.get("num_classes") or options.get("num_labels") or common.CLASSES):
        inputs = common.batch(name, n, generator)
    if options.get("num_outputs", 1) > 1:
        inputs = tuple(x[:, None].expand(-1, options["num_outputs"]).contiguous() for x in inputs)
    if options.get("multidim_average") == "samplewise" and name != "MulticlassExactMatch":
        inputs = tuple(x[..., None].expand(*x.shape, 2) for x in inputs)
    if options.get("input_format") in ("index", "mixed"):
        index = inputs[1].argmax(1)
        inputs = (index, index) if options["input_format"] == "index" else (inputs[0], index)
    if "weight" in common.kind_of(name).inputs and common.kind_of(name).domain != "aggregation" and options.get("weighted"):
        inputs = (*inputs, torch.rand(n, generator=generator))
    return inputs


def seen(name, n=6, seed=0, **options):
    metric = made(name, **options)
    metric.update(*batch(name, n, seed, **options))
    if name == FRECHET:
        metric.update(batch(name, n, seed + 7, **options)[0], False)
    return metric


def variants(kind):
    """Each argument that has a few values, with one that is not the default."""
    for argument in kind.arguments:
        if argument.name in ("validate", "accumulation", "dtype", "from_logits"):
            continue
        if argument.annotation.startswith("bool"):
            values = [not argument.default]
        else:
            choices = re.match(r"Literal\[(.*?)\]", argument.annotation)
            values = [value.strip("' ") for value in choices[1].split(",")] if choices else []
        for value in values:
            if value != argument.default and not (value == "none" and argument.default is None):
                yield argument.name, value
        if argument.name in ("top_k",) and kind.domain == "classification":
            yield argument.name, 2
        if argument.name == "dim":
            yield argument.name, (1, 2, 3)
        if argument.name == "thresholds":
            yield argument.name, SIZES["thresholds"][0]


def plain(dtype):
    return str(dtype).removeprefix("torch.")


def combined(a, b, both):
    """How a state of two disjoint sets of samples comes from those of both."""
    if both.size(0) != a.size(0):
        return "concatenated"
    if torch.equal(a + b, both):
        return "added"
    if torch.equal(torch.maximum(a, b), both):
        return "the larger"
    if torch.equal(torch.minimum(a, b), both):
        return "the smaller"
    return "together with the others"


def states_of(name, options):
    """[name, dtype, sizes as text, how they combine] of each state."""
    a, b, longer = seen(name, 6, 0, **options), seen(name, 4, 1, **options), seen(name, 9, 0, **options)
    both = a.clone()
    both.merge_state(b)
    others = {}
    arguments = common.arguments_of(common.kind_of(name))
    given = common.options(name) | options if name != FRECHET else {"num_features": 4}
    for size, (low, high) in SIZES.items():
        if size in arguments and not (size == "thresholds" and given.get("thresholds") is None):
            others[size] = (high - low, seen(name, 6, 0, **(options | {size: high})).metric_state)
    for size, (low, high) in CATEGORIES.items():
        if size in arguments:
            others["categories"] = (len(high) - len(low), seen(name, 6, 0, **(options | {size: high})).metric_state)
    rows = []
    for state, tensor in a.metric_state.items():
        how = combined(tensor, b.metric_state[state], both.metric_state[state])
        sizes = []
        for dim, size in enumerate(tensor.shape):
            grows = longer.metric_state[state].shape[dim] != size
            known = {argument: (other[state].shape[dim] - size) / step for argument, (step, other) in others.items()}
            known = {argument: factor for argument, factor in known.items() if factor}
            if grows and dim == 0:
                sizes.append("N")
            elif known:
                (argument, factor), *_ = known.items()
                value = len(common.REQUIRED["things"] + common.REQUIRED["stuffs"]) if argument == "categories" else SIZES[argument][0]
                rest = int(size - factor * value)
                text = argument if factor == 1 else f"{int(factor)} {argument}"
                sizes.append(f"{text} + {rest}" if rest else text)
            else:
                sizes.append(str(size))
        rows.append((state, plain(tensor.dtype), f"[{', '.join(sizes)}]", how))
    return rows


def states(name):
    """By default, and of each argument that changes them."""
    usual = states_of(name, {})
    found = {tuple(usual): ["by default"]}
    for argument, value in variants(common.kind_of(name)):
        options = {argument: value} | ({"num_classes": common.CLASSES} if argument in ("per_class", "input_format") else {})
        try:
            other = tuple(states_of(name, options))
        except ours.MetricError:  # of this task there is no such value
            continue
        if other != tuple(usual):
            found.setdefault(other, []).append(argument if argument == "thresholds" else f"{argument}={value!r}")
    return [(when, list(rows)) for rows, when in found.items()]


@functools.cache
def mps_kernels():
    folder = Path(torchgen.__file__).parent / "packaged/ATen/native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    kernels = {str(name) for name in parsed.backend_indices[DispatchKey.MPS].index}
    for function in parsed.native_functions:
        delegate = function.structured_delegate
        if function.has_composite_explicit_autograd_kernel or function.has_composite_implicit_autograd_kernel or (
            function.has_composite_explicit_autograd_non_functional_kernel or (delegate and str(delegate) in kernels)
        ):
            kernels.add(str(function.func.name))
    return kernels


def without_mps(names):
    known = mps_kernels()
    return sorted({name.removesuffix(".default") for name in names if name.removesuffix(".default") not in known})


def without_data(inputs):
    return common.moved(inputs, "meta") if all(not isinstance(x, bool) for x in inputs) else (inputs[0].to("meta"), *inputs[1:])


def on_device(name, **options):
    """How many operators an update() enqueues, whether compute() reads values, and the operators of both that have no kernel on MPS."""
    metric = made(name, **options)
    inputs = without_data(batch(name, 6))
    metric.update(*inputs)  # which makes the states
    if name == FRECHET:
        metric.update(inputs[0], False)
    with common.Operators() as update:
        metric.update(*inputs)
    try:
        with common.Operators() as compute:
            metric.compute()
        waits = False
    except (NotImplementedError, RuntimeError):  # there are no values to read
        waits = True
        with common.Operators() as compute:
            seen(name).compute()
    return len(update.work()), waits, without_mps([*update.names, *compute.names])


def text_of(value):
    if isinstance(value, dict):
        return ", ".join(f"`{name}` {text_of(each)}" for name, each in value.items())
    if isinstance(value, list):  # of each class
        return "of each class " + " or ".join(dict.fromkeys(map(text_of, value)))
    if isinstance(value, tuple):
        return ", ".join(f"`{name}` {text_of(each)}" for name, each in zip(value._fields, value))
    if value.numel() == 0:
        return "nothing"
    numbers = {("NaN" if number != number else f"{number:g}") for number in value.flatten().tolist()}
    shape = "" if value.dim() == 0 else f" [{', '.join(map(str, value.shape))}]"
    return (numbers.pop() if len(numbers) == 1 else " ".join(sorted(numbers))) + shape


def nothing(name):
    """A batch without samples."""
    return tuple(x if isinstance(x, bool) else x[:0] for x in batch(name, 2))


def of_empty(name, device="cpu"):
    """The value of a batch without samples, or the error."""
    metric = made(name)
    try:
        metric.update(*(x if isinstance(x, (bool, list)) else x.to(device) for x in nothing(name)))
        return text_of(metric.compute())
    except ours.MetricError as error:
        return "an error: " + str(error).partition("\n")[0]


def value(name):
    """dtype and shape of what compute() gives."""
    found = seen(name).compute()

    def text(x):
        return f"{plain(x.dtype)} [{', '.join(map(str, x.shape))}]"

    if isinstance(found, dict):
        return "a dictionary of tensors"
    if isinstance(found, tuple):
        names = getattr(found, "_fields", None)
        return ", ".join(f"`{key}` " + ("list of " + text(x[0]) if isinstance(x, list) else text(x)) for key, x in zip(names, found))
    return text(found)


@functools.cache
def headers():
    """The header of each class in C++."""
    found = {}
    for file in sorted(METRICS.glob("**/*.h")):
        if "python" in file.relative_to(METRICS).parts:
            continue
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r"^(?:class|struct) (\w+)\b[^;]*?\{|^using (\w+) =|^DEVSAN_\w+\(\s*(\w+),", text, re.M):
            found.setdefault(next(filter(None, name)), "metrics/" + file.relative_to(METRICS).as_posix())
    return found
