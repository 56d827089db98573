"""The functions and classes of `torch._C` that `torch.cuda` needs and a CPU build lacks.

Device state lives in libdevsan_sim.so. Most of it is reached through PyTorch's own device-independent bindings
(`torch._C._accelerator_*`, `torch.Stream`, `torch.Event`), which call the simulator's device guard and raise its
errors; the rest through the library's extern "C" functions. Each module of _PARTS has a function
`functions(c, library)`, which gives what it adds to `torch._C`, by name.
"""

import atexit
import ctypes
import os
import sys
import types

from . import comm, devices, graphs, legacy_types, libraries, memory, nccl, refused, settings, storage, streams, tuning

# Of two parts that give a name, the first one's counts: graphs.py knows whether a stream captures, refused.py fills gaps.
_PARTS = (graphs, devices, streams, memory, settings, libraries, comm, nccl, tuning, refused)


def provide(c, library):
    """Fills `torch._C` (`c`) before torch.cuda is executed."""
    if hasattr(c, "_cuda_getDeviceCount"):
        print(
            "devsan: simulated devices: this PyTorch is built with CUDA; use a CPU build of PyTorch, or run without --sim",
            file=sys.stderr,
        )
        os._exit(2)
    library.devsan_sim_resize_storage.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.devsan_sim_resize_storage.restype = None
    library.devsan_sim_elapsed_milliseconds.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.devsan_sim_elapsed_milliseconds.restype = ctypes.c_double
    library.devsan_sim_adopt_host_storage.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.devsan_sim_adopt_host_storage.restype = None
    library.devsan_sim_register_host.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.devsan_sim_unregister_host.argtypes = [ctypes.c_void_p]
    given = {}
    for part in _PARTS:
        for name, value in part.functions(c, library).items():
            given.setdefault(name, value)
    for name, value in given.items():
        setattr(c, name, value)
        if isinstance(value, types.ModuleType):
            sys.modules[value.__name__] = value
    _finish_backward_at_exit(library)
    c._has_cuda = True
    legacy_types.unlock_when_bound(c)


def provide_to_cuda_build(c, library):
    """Replaces what a CUDA build's `torch._C` would do by kernels outside of operators, or by NCCL."""
    _finish_backward_at_exit(library)
    graphs.provide_to_cuda_build(c)
    parts = (comm.functions(c, library), nccl.single_process_collectives(), nccl.process_groups(c, library))
    for part in parts:
        for name, value in part.items():
            setattr(c, name, value)


def _finish_backward_at_exit(library):
    """A device's autograd thread still owes Python references after backward() has returned. It would find the
    interpreter gone and abort the process if a short program ended at once."""
    atexit.register(library.devsan_sim_finish_backward)


def after_torch_cuda(cuda, library):
    """What torch.cuda would otherwise ask a driver for."""
    devices.set_versions(sys.modules["torch"])
    devices.provide_toolkit()
    # The count that torch.cuda gives before it is initialised, which follows the environment.
    # A Python function: torch._dynamo keeps a table of them.
    cuda._device_count_nvml = lambda: library.devsan_sim_peek_device_count()
    from torch.storage import UntypedStorage

    storage.extend(UntypedStorage, library)
