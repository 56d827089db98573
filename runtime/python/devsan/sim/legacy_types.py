"""torch.cuda.FloatTensor and kin: the types of tensors before there were dtypes and devices.

A CPU build has these types, with their constructors, and each asks one flag of its own, `is_cuda`, to refuse: "Torch not
compiled with CUDA enabled". Without the flag PyTorch's constructors and torch.set_default_tensor_type work as in a CUDA
build. The flag lies behind the type object; its place is found by the members around it, and where those are not as
expected, nothing is touched and the types refuse as before.
"""

import ctypes
import gc
import sys


def unlock_when_bound(c):
    """`torch` binds the types late in its import; `torch._C._init_names` is what it calls next."""
    init_names = c._init_names

    def init_names_and_unlock(names):
        init_names(names)
        c._init_names = init_names
        _unlock(sys.modules["torch"])

    c._init_names = init_names_and_unlock


def _unlock(torch):
    types = [kind for kind in torch._tensor_classes if kind.is_cuda]
    flags = [_flag(kind) for kind in types]
    if not types or None in flags:
        return
    _keep_is_cuda(type(types[0]), frozenset(types))
    for flag in flags:
        flag.value = False


class _Members(ctypes.Structure):
    """What stands behind the PyTypeObject: torch/csrc/tensor/python_tensor.cpp, PyTensorType."""

    _fields_ = [
        ("dtype", ctypes.c_void_p),
        ("layout", ctypes.c_void_p),
        ("is_cuda", ctypes.c_bool),
        ("is_xpu", ctypes.c_bool),
        ("name", ctypes.c_char * 64),
    ]


def _flag(kind):
    metaclass = type(kind)
    members = _Members.from_address(id(kind) + metaclass.__basicsize__)
    expected = (id(kind.dtype), id(kind.layout), True, f"{kind.__module__}.{kind.__name__}".encode())
    if (members.dtype, members.layout, members.is_cuda, members.name) != expected:
        return None
    return ctypes.c_bool.from_address(ctypes.addressof(members) + _Members.is_cuda.offset)


def _keep_is_cuda(metaclass, types):
    """`torch.cuda.FloatTensor.is_cuda` reads the flag; it must go on being True."""
    dictionary = gc.get_referents(metaclass.__dict__)[0]
    read = dictionary["is_cuda"]
    dictionary["is_cuda"] = property(lambda kind: kind in types or read.__get__(kind))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(metaclass))
