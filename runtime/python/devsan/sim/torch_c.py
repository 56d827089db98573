"""The functions and classes of `torch._C` that `torch.cuda` needs and a CPU build lacks.

Device state lives in libdevsan_sim.so. Most of it is reached through PyTorch's own device-independent bindings
(`torch._C._accelerator_*`, `torch.Stream`, `torch.Event`), which call the simulator's device guard and raise its
errors; the rest through the library's extern "C" functions. Each module of _PARTS has a function
`functions(c, library)`, which gives what it adds to `torch._C`, by name.
"""

import ctypes
import os
import sys

from . import comm, devices, libraries, memory, refused, settings, storage, streams

_PARTS = (devices, streams, memory, settings, libraries, comm, refused)


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
    for part in _PARTS:
        for name, value in part.functions(c, library).items():
            setattr(c, name, value)
    c._has_cuda = True


def after_torch_cuda(cuda, library):
    """What torch.cuda would otherwise ask a driver for."""
    cuda._cached_device_count = library.devsan_sim_device_count()
    from torch.storage import UntypedStorage

    storage.extend(UntypedStorage, library)
