"""The calls that reach a backend in OpInfo's samples, forward and backward, with what the host does in each.

Used on two sides: by record.py on a CUDA build of PyTorch, whose own host code runs, and by a test of the simulator
(runtime/sim/sweep/blocking_test.py), so that both see the same calls.
"""

import random
import zlib

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = "cuda:1"
DTYPES = (torch.float32, torch.float16, torch.complex64, torch.int64, torch.bool)
SAMPLES = 10  # of an entry and a dtype, out of all that there are
# The compiler of GPU kernels is not there.
LEFT_OUT = ("jiterator",)


def name_of(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def entries():
    return {name_of(op): op for op in op_db if not any(word in op.name for word in LEFT_OUT)}


def on_a_device(value):
    device = value.device if isinstance(value, torch.Tensor) else value
    return isinstance(device, torch.device) and device.type == "cuda"


def signature(arguments):
    """What of a call's arguments may decide whether it blocks, in eight characters: equal for calls that must behave alike."""
    places = {}
    text = ";".join(_describe(value, places) for value in tree_flatten(arguments)[0])
    return f"{zlib.crc32(text.encode()):08x}"


def _describe(value, places):
    if isinstance(value, float):
        return f"{value:.6g}"
    if not isinstance(value, torch.Tensor):
        return type(value).__name__ if isinstance(value, torch.Generator) else str(value)
    text = f"{value.dtype}{list(value.shape)}@{value.device.type}"
    if value.layout == torch.sparse_coo:
        return f"{text} coo {value._nnz()} {value.is_coalesced()}"
    if value.layout != torch.strided:
        return f"{text} {value.layout} {value._nnz()}"
    place = value.data_ptr() if value.numel() else None
    if place in places:
        text += f" as {places[place]}"
    elif place is not None:
        places[place] = len(places)
    return f"{text} {value.stride()}"


class Calls(TorchDispatchMode):
    """Tells `report` of every call: the operator, its arguments' signature, what `watch` says of it, and its error."""

    def __init__(self, watch, report):
        super().__init__()
        self.watch, self.report = watch, report

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not any(map(on_a_device, tree_flatten((args, kwargs))[0])):
            return func(*args, **kwargs)
        key = signature((args, kwargs))
        self.watch()
        error = result = None
        try:
            result = func(*args, **kwargs)
        except Exception as exception:
            error = exception
        self.report(str(func), key, self.watch(), error)
        return self.finish(func, args, kwargs, result, error)

    def finish(self, func, args, kwargs, result, error):
        if error:
            raise error
        return result


def _to_device(value):
    if isinstance(value, torch.Tensor):
        return value.detach().to(DEVICE).requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) or isinstance(value, str) and value == "cpu":
        return torch.device(DEVICE)
    return value


def run(op, calls, dtypes=DTYPES):
    """The samples of an entry, each forward and backward within `calls`; returns how many there were and what failed."""
    count, failures = 0, []
    for dtype in dtypes:
        if dtype not in op.supported_dtypes("cuda"):
            continue
        torch.manual_seed(0)
        has_gradient = op.supports_autograd and dtype in op.supported_backward_dtypes("cuda")
        samples = list(op.sample_inputs("cpu", dtype, requires_grad=has_gradient))
        for sample in random.Random(0).sample(samples, min(SAMPLES, len(samples))):
            count += 1
            try:
                args, kwargs = tree_map(_to_device, ((sample.input, *sample.args), sample.kwargs))
                with calls:
                    results = [v for v in tree_flatten(op(*args, **kwargs))[0] if isinstance(v, torch.Tensor) and v.requires_grad]
                    if results:
                        torch.autograd.backward(results, [torch.ones_like(result) for result in results])
            except Exception as error:
                failures.append(f"{dtype}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
    return count, failures
