"""Host implementations of a program's own GPU kernels: what `devsan run --sim=N` runs where a compiled extension launches
one. Elsewhere they are never called.

    @devsan.host_kernel("scale(float*, float, int)")
    def scale(launch, values, factor, count):
        values.tensor(count).mul_(factor)
"""

import ctypes
import os
import sys
import traceback

_LAUNCH_FAILURE = 719  # cudaErrorLaunchFailure

# Of C++'s types as the demangler writes them: torch's dtype, and the size.
_DTYPES = {
    "bool": ("bool", 1), "char": ("int8", 1), "signed char": ("int8", 1), "unsigned char": ("uint8", 1),
    "short": ("int16", 2), "unsigned short": ("uint16", 2), "int": ("int32", 4), "unsigned int": ("uint32", 4),
    "long": ("int64", 8), "unsigned long": ("uint64", 8), "long long": ("int64", 8), "unsigned long long": ("uint64", 8),
    "float": ("float32", 4), "double": ("float64", 8), "c10::Half": ("float16", 2), "__half": ("float16", 2),
    "c10::BFloat16": ("bfloat16", 2), "__nv_bfloat16": ("bfloat16", 2), "c10::complex<float>": ("complex64", 8),
    "c10::complex<double>": ("complex128", 16),
}


class Launch(ctypes.Structure):
    """The launch: `name`, `grid`, `block`, `shared_memory`, `device`, `stream`."""

    _fields_ = [
        ("_kernel", ctypes.c_char_p), ("_grid", ctypes.c_uint * 3), ("_block", ctypes.c_uint * 3),
        ("shared_memory", ctypes.c_size_t), ("device", ctypes.c_int), ("stream", ctypes.c_void_p),
        ("_arguments", ctypes.POINTER(ctypes.c_void_p)), ("_reach", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)),
    ]
    name = property(lambda self: self._kernel.decode())
    grid = property(lambda self: tuple(self._grid))
    block = property(lambda self: tuple(self._block))

    def pointer(self, address, dtype):
        """A pointer that lies in a struct: `dtype` is torch's, of what it points to."""
        return Pointer(self._reach(address), str(dtype).removeprefix("torch."))

    def arguments(self):
        return [self._argument(self._arguments[i], kind) for i, kind in enumerate(_parameter_types(self.name))]

    def _argument(self, address, kind):
        if kind.endswith("*"):
            pointed = kind[:-1].removesuffix(" const")
            return Pointer(self._reach(ctypes.c_void_p.from_address(address).value), _DTYPES.get(pointed, (None,))[0])
        if kind in _DTYPES:
            return _tensor(address, 1, _DTYPES[kind][0]).item()
        return Struct(address)


class Pointer:
    """A kernel's pointer. `address` is where host code finds what it points to, None for a null pointer."""

    def __init__(self, address, dtype):
        self.address, self.dtype = address, dtype

    def tensor(self, *shape, dtype=None):
        """A CPU tensor over the memory, which can be written."""
        import torch

        dtype = str(dtype or self.dtype).removeprefix("torch.")
        return _tensor(self.address, torch.Size(shape).numel(), dtype).view(shape)


class Struct:
    """A parameter of another type, passed by value: `read(ctypes_type)` gives it."""

    def __init__(self, address):
        self.address = address

    def read(self, ctypes_type):
        return ctypes_type.from_buffer_copy(ctypes.string_at(self.address, ctypes.sizeof(ctypes_type)))


def _tensor(address, count, dtype):
    import torch

    size = next(size for name, size in _DTYPES.values() if name == dtype)
    if count == 0:
        return torch.empty(0, dtype=getattr(torch, dtype))
    memory = (ctypes.c_char * (count * size)).from_address(address)
    return torch.frombuffer(memory, dtype=getattr(torch, dtype))


def _parameter_types(signature):
    """`void scale<float>(float*, float)`: ["float*", "float"]."""
    depth, begin = 0, len(signature)
    for begin in range(len(signature) - 1, -1, -1):
        depth += (signature[begin] == ")") - (signature[begin] == "(")
        if depth == 0:
            break
    types, depth = [""], 0
    for character in signature[begin + 1 : -1]:
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            types.append("")
        else:
            types[-1] += character
    return [kind.strip() for kind in types if kind.strip()]


_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Launch), ctypes.c_void_p)
_callbacks = []  # for as long as the process lives


def _registration():
    """None where nothing is simulated. The simulated devices come into the process with torch."""
    if os.environ.get("DEVSAN_LIBS") and "torch" not in sys.modules:
        import torch  # noqa: F401
    # With a CPU build of torch CUDA's runtime comes with the first extension only.
    if (standin := os.environ.get("DEVSAN_CUDA_STANDIN")) and not hasattr(ctypes.CDLL(None), "devsan_sim_add_host_kernel"):
        ctypes.CDLL(os.path.join(standin, "12", "libcudart.so.12"), ctypes.RTLD_GLOBAL)
    return getattr(ctypes.CDLL(None), "devsan_sim_add_host_kernel", None)


def host_kernel(pattern):
    """Decorates the function that runs where a kernel is launched whose name, with the types of its parameters, matches
    `pattern`; * stands for anything. Its arguments are the launch (`name`, `grid`, `block`, `device` …) and the kernel's:
    numbers, pointers, of which `tensor(*shape)` makes CPU tensors over the memory, and structs."""

    def decorate(function):
        def run(launch, _):
            try:
                function(launch.contents, *launch.contents.arguments())
                return 0
            except BaseException:  # nothing passes through the launch
                traceback.print_exc()
                return _LAUNCH_FAILURE

        if add := _registration():
            _callbacks.append(_Callback(run))
            add(pattern.encode(), _callbacks[-1], None)
        return function

    return decorate
