"""The Python API of DevSan. Under `devsan run` it reaches the runtime, without it everything here does nothing.

    with devsan.expect_no_sync():          # waiting for the device in here is an error
        loss = train_step(model, batch)
        with devsan.allow_sync():
            print(loss.item())
    devsan.step()
"""

import contextlib
import ctypes

__all__ = ["allow_sync", "allow_transfer", "expect_no_sync", "step"]

# Bits of runtime/event.h's EventFlags.
_SYNC_ALLOWED = 1 << 3
_TRANSFER_ALLOWED = 1 << 4
_SYNC_FORBIDDEN = 1 << 5


def _runtime():
    """The runtime comes into the process with torch, which may be imported later than this package."""
    global _functions
    if _functions is None:
        process = ctypes.PyDLL(None)
        try:
            enter, leave, step_ = process.devsan_scope_enter, process.devsan_scope_leave, process.devsan_step
        except AttributeError:
            return None
        enter.argtypes, enter.restype = [ctypes.c_uint32], ctypes.c_void_p
        leave.argtypes, leave.restype = [ctypes.c_void_p], None
        step_.argtypes, step_.restype = [], None
        _functions = enter, leave, step_
    return _functions


_functions = None


@contextlib.contextmanager
def _scope(flag):
    functions = _runtime()
    if functions is None:
        yield
        return
    enter, leave, _ = functions
    scope = enter(flag)
    try:
        yield
    finally:
        leave(scope)


def allow_sync():
    """Waiting for a device is intended in this scope."""
    return _scope(_SYNC_ALLOWED)


def allow_transfer():
    """Copies between devices are intended in this scope."""
    return _scope(_TRANSFER_ALLOWED)


def expect_no_sync():
    """Waiting for a device is a bug in this scope. Inner scopes win over outer ones."""
    return _scope(_SYNC_FORBIDDEN)


def step():
    """Ends a step of the program's main loop; findings are counted per step."""
    functions = _runtime()
    if functions is not None:
        functions[2]()
