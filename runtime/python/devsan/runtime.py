"""The functions that libdevsan_runtime.so exports, as far as Python calls them."""

import contextlib
import ctypes
import os
import sys

_functions = None


class _Functions:
    """Raises AttributeError or ValueError where the runtime, or the interpreter's functions, are not found in the process."""

    def __init__(self, process):
        def function(name, result, *arguments):
            found = getattr(process, name)
            found.restype, found.argtypes = result, list(arguments)
            return found

        self.is_active = function("devsan_is_active", ctypes.c_int)
        self.guard_enter = function("devsan_guard_enter", ctypes.c_void_p, ctypes.c_uint32)
        self.count_enter = function("devsan_count_enter", ctypes.c_void_p)
        self.count_read = function("devsan_count_read", ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32)
        self.scope_leave = function("devsan_scope_leave", None, ctypes.c_void_p)
        self.step = function("devsan_step", None)
        self.unobserved_enter = function("devsan_unobserved_enter", None)
        self.unobserved_leave = function("devsan_unobserved_leave", None)
        # Takes the optimizer.
        self.optimizer_stepped = function("devsan_optimizer_stepped_function", ctypes.py_object)()


def functions():
    """None where the program does not run under `devsan run`. There the runtime comes into the process with torch."""
    global _functions
    if _functions is None:
        if os.environ.get("DEVSAN_LIBS") and "torch" not in sys.modules:
            try:
                import torch  # noqa: F401
            except ImportError:
                return None
        try:
            _functions = _Functions(ctypes.PyDLL(None))
        except (AttributeError, ValueError):
            return None
    return _functions


def is_active() -> bool:
    """True where the program runs under `devsan run` and is observed."""
    found = functions()
    return found is not None and bool(found.is_active())


def step() -> None:
    """Ends a step of the program's main loop; findings are counted per step."""
    found = functions()
    if found is not None:
        found.step()


@contextlib.contextmanager
def unobserved():
    """What this thread does here is DevSan's or PyTorch's own doing and nobody's finding."""
    found = functions()
    if found is None:
        yield
        return
    found.unobserved_enter()
    try:
        yield
    finally:
        found.unobserved_leave()
