"""Sample values moved between the CPU and a simulated device, and results compared; shared by the sweeps of this folder.

Device memory is read through ATen alone (`Tensor.cpu()`), never by address.
"""

import collections
import dataclasses

import torch

CPU = torch.device("cpu")

# Kernels are the CPU's own; composites may take CUDA's path through an operator, which rounds in other places.
TOLERANCES = {
    torch.float16: (1e-2, 1e-2),
    torch.bfloat16: (2e-2, 2e-2),
    torch.float64: (1e-7, 1e-7),
    torch.complex128: (1e-7, 1e-7),
}
DEFAULT_TOLERANCE = (1e-4, 2e-5)


class Mismatch(Exception):
    """A result differs between the CPU and the device."""


def with_layout_of(tensor, device):
    """`tensor` on `device`, over a copy of its whole storage: some operators look at offset and strides."""
    storage = tensor.untyped_storage().to(device=device)
    moved = torch.empty(0, dtype=tensor.dtype, device=device)
    moved.set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())
    if tensor.is_conj():
        moved = moved.conj()
    if tensor.is_neg():
        moved = torch._neg_view(moved)
    return moved


def to_device(tensor, device):
    if tensor.device == device:
        return tensor.detach().requires_grad_(tensor.requires_grad)
    if tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested:
        moved = with_layout_of(tensor.detach(), device)
    else:
        moved = tensor.detach().to(device)
    return moved.requires_grad_(tensor.requires_grad)


def copy_of(tensor):
    """The tensor over memory of its own, with the same layout."""
    if tensor.layout == torch.strided and not tensor.is_quantized and not tensor.is_nested:
        copy = with_layout_of(tensor.detach(), tensor.device)
        if copy.untyped_storage()._cdata == tensor.untyped_storage()._cdata:
            copy.set_(tensor.untyped_storage().clone(), tensor.storage_offset(), tensor.size(), tensor.stride())
        return copy
    return tensor.detach().clone()


def rebuild(value, make_tensor, device):
    """The sample's value with make_tensor applied to its tensors, and what names a device naming `device`."""
    if isinstance(value, torch.Tensor):
        return make_tensor(value)
    if isinstance(value, torch.device) or isinstance(value, str) and value == "cpu":
        return device
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rebuild(item, make_tensor, device) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(rebuild(item, make_tensor, device) for item in value)
    if isinstance(value, dict):
        return {key: rebuild(item, make_tensor, device) for key, item in value.items()}
    return value


def on(device, value):
    return rebuild(value, lambda tensor: to_device(tensor, device), device)


def copies(value, device):
    return rebuild(value, copy_of, device)


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, collections.abc.Mapping):
        value = value.values()
    if isinstance(value, (list, tuple)) or isinstance(value, collections.abc.ValuesView):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def names_device(value):
    """Whether a sample says where its result lives; a factory without device= makes a CPU tensor."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(names_device(item) for item in value)
    return isinstance(value, (torch.Tensor, torch.device)) or isinstance(value, str) and value.startswith("cuda")


def plain(tensor):
    tensor = tensor.detach()
    if tensor.is_quantized:
        return tensor.cpu().dequantize()
    tensor = tensor.cpu()
    return tensor.to(torch.complex64) if tensor.dtype == torch.complex32 else tensor


def tolerance(dtype):
    if dtype.itemsize == 1:
        return 0, 0
    return TOLERANCES.get(dtype, DEFAULT_TOLERANCE)


def same_bits(a, b):
    """A quick answer for the usual case."""
    return (
        a.layout == torch.strided == b.layout
        and a.dtype == b.dtype
        and a.shape == b.shape
        and not a.is_nested
        and torch.equal(a, b)
    )


def compare_one(expected, actual, what, where, strides, contents):
    if where is not None and actual.device != where:
        raise Mismatch(f"{what}: on {actual.device}, not on {where}")
    if actual.dtype != expected.dtype or actual.layout != expected.layout:
        raise Mismatch(f"{what}: {actual.dtype} {actual.layout}, on the CPU {expected.dtype} {expected.layout}")
    if actual.is_inference() != expected.is_inference():
        raise Mismatch(f"{what}: is_inference() is {actual.is_inference()}, on the CPU {expected.is_inference()}")
    if actual.layout == torch.strided and not actual.is_nested:
        if actual.shape != expected.shape:
            raise Mismatch(f"{what}: shape {tuple(actual.shape)}, on the CPU {tuple(expected.shape)}")
        if strides and actual.numel() and actual.stride() != expected.stride():
            raise Mismatch(f"{what}: strides {actual.stride()}, on the CPU {expected.stride()}")
    if not contents:
        return
    actual, expected = plain(actual), plain(expected)
    if same_bits(expected, actual):
        return
    rtol, atol = tolerance(expected.dtype)
    try:
        if expected.is_nested:
            for one, other in zip(expected.unbind(), actual.unbind(), strict=True):
                torch.testing.assert_close(other, one, rtol=rtol, atol=atol, equal_nan=True)
        else:
            torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)
    except AssertionError as error:
        raise Mismatch(f"{what}: {' '.join(str(error).split())}") from error


def numbers_in(value):
    """What a result holds beside tensors."""
    if isinstance(value, (int, float, bool, complex, torch.dtype)):
        return [value]
    if isinstance(value, collections.abc.Mapping):
        value = list(value.values())
    return [number for item in value for number in numbers_in(item)] if isinstance(value, (list, tuple)) else []


def compare(host, device, what, where, strides=True, contents=True):
    """`where` is the device of every tensor in `device`, None for any."""
    host_tensors, device_tensors = tensors_in(host), tensors_in(device)
    if len(host_tensors) != len(device_tensors):
        raise Mismatch(f"{what}: {len(host_tensors)} tensors on the CPU, {len(device_tensors)} on {where}")
    for expected, actual in zip(host_tensors, device_tensors, strict=True):
        compare_one(expected, actual, what, where, strides, contents)
    host_numbers, device_numbers = numbers_in(host), numbers_in(device)
    if len(host_numbers) != len(device_numbers):
        raise Mismatch(f"{what}: {len(host_numbers)} numbers on the CPU, {len(device_numbers)} on {where}")
    for expected, actual in zip(host_numbers, device_numbers, strict=True):
        # nan is not equal to itself
        if expected != actual and not (expected != expected and actual != actual):
            raise Mismatch(f"{what}: {actual}, on the CPU {expected}")


def aligned(host, device, what, where):
    """Gradients with zeros for None: a path that does not reach an input gives none, one that reaches it may give zeros."""
    if len(host) != len(device):
        raise Mismatch(f"{what}: {len(host)} on the CPU, {len(device)} on {where}")
    pairs = [(h, d) for h, d in zip(host, device, strict=True) if h is not None or d is not None]
    return (
        [torch.zeros_like(d, device="cpu") if h is None else h for h, d in pairs],
        [torch.zeros_like(h, device=where) if d is None else d for h, d in pairs],
    )


def compare_gradients(host, device, what, where):
    compare(*aligned(host, device, what, where), what, where, strides=False)


REDUCED = (torch.float16, torch.bfloat16)
WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64}


def widened(value, dtype):
    """The value with its tensors of `dtype` in the next wider one."""

    def widen(tensor):
        if tensor.dtype != dtype:
            return tensor
        return tensor.detach().to(WIDER[dtype]).requires_grad_(tensor.requires_grad)

    return rebuild(value, widen, CPU)


def error_of(tensor, truth):
    difference = (tensor.detach().cpu().to(torch.float64) - truth.detach().to(torch.float64)).abs()
    return difference.max().item() if difference.numel() else 0.0


def compare_with_float(exact, host, device, dtype, what, where, strides=True):
    """Composites and fused kernels round in other places: the device must come as near to the exact result as the CPU.

    All but the values must be equal.
    """
    compare(host, device, what, where, strides, contents=False)
    for truth, one, other in zip(*(tensors_in(result) for result in (exact, host, device)), strict=True):
        if not truth.is_floating_point():
            compare(one, other, what, where, strides)
            continue
        rtol, atol = tolerance(dtype)
        largest = truth.detach().abs().max().item() if truth.numel() else 0.0
        if not error_of(other, truth) <= 2 * error_of(one, truth) + atol + rtol * largest:
            raise Mismatch(f"{what}: off by {error_of(other, truth):.3g}, the CPU by {error_of(one, truth):.3g}")


def compare_gradients_with_float(exact, host, device, dtype, what, where):
    truth = [e for e, h, d in zip(exact, host, device, strict=True) if h is not None or d is not None]
    compared_host, compared_device = aligned(host, device, what, where)
    truth = [torch.zeros_like(h) if e is None else e for e, h in zip(truth, compared_host, strict=True)]
    compare_with_float(truth, compared_host, compared_device, dtype, what, where, strides=False)


def unlike(tensor):
    """A dense tensor on the CPU that differs from `tensor` in every element, to see whether an out= form writes all."""
    if tensor.layout != torch.strided:
        return torch.full(tensor.shape, float("nan")).to(tensor.dtype)
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype == torch.bool:
        return ~tensor
    if tensor.is_floating_point() or tensor.is_complex():
        zero, nan = torch.zeros((), dtype=tensor.dtype), torch.full((), float("nan"), dtype=tensor.dtype)
        return torch.where(tensor.isnan(), zero, nan)
    return tensor ^ 1


def brief(error, limit=300):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:limit]}"
