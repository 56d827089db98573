"""The functions and classes of `torch._C` that `torch.cuda` needs and a CPU build lacks.

Device state lives in libdevsan_sim.so. Most of it is reached through PyTorch's own device-independent bindings
(`torch._C._accelerator_*`, `torch.Stream`, `torch.Event`), which call the simulator's device guard and raise its
errors; the rest through the library's extern "C" functions.
"""

import atexit
import ctypes
import os
import sys
import time
import types

_CAPABILITY = (8, 0)
_CUDA = 1  # c10::DeviceType::CUDA


class _State:
    """What exists in Python alone."""

    library = None
    device_count = 0
    in_bad_fork = False
    fork_watched = False
    sync_debug_mode = 0
    memory_fraction = {}
    properties = {}


def provide(c, library):
    """Fills `torch._C` (`c`) before torch.cuda is executed."""
    if hasattr(c, "_cuda_getDeviceCount"):
        print(
            "devsan: simulated devices: this PyTorch is built with CUDA; use a CPU build of PyTorch, or run without --sim",
            file=sys.stderr,
        )
        os._exit(2)
    _State.library = library
    library.devsan_sim_resize_storage.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.devsan_sim_resize_storage.restype = None
    library.devsan_sim_elapsed_milliseconds.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.devsan_sim_elapsed_milliseconds.restype = ctypes.c_double
    _State.device_count = library.devsan_sim_device_count()
    for group in (_devices, _streams, _memory, _settings, _several_devices, _refused):
        for name, value in group(c).items():
            setattr(c, name, value)
    c._has_cuda = True


def after_torch_cuda(cuda):
    """What torch.cuda would otherwise ask a driver for."""
    cuda._cached_device_count = _State.device_count
    from torch.storage import UntypedStorage

    from . import sim_storage

    sim_storage.extend(UntypedStorage, _State.library)


# torch::utils::register_fork_handler_for_device_init: makes a forked child ask torch.cuda again, which then refuses.
_REGISTER_FORK_HANDLER = "_ZN5torch5utils37register_fork_handler_for_device_initEN3c1010DeviceTypeE"


def _watch_fork():
    # As on CUDA, a child forked after the first use of a device cannot use devices.
    if not _State.fork_watched:
        _State.fork_watched = True
        os.register_at_fork(after_in_child=_enter_bad_fork)
        getattr(ctypes.PyDLL(_torch_python_library()), _REGISTER_FORK_HANDLER)(ctypes.c_int8(_CUDA))


def _torch_python_library():
    return os.path.join(os.path.dirname(sys.modules["torch._C"].__file__), "lib", "libtorch_python.so")


def _enter_bad_fork():
    _State.in_bad_fork = True


def _let_backward_threads_finish():
    # A device's autograd thread still owes Python a reference after backward() has returned. It would find the
    # interpreter gone and abort the process if a short program ended at once; on hardware, teardown takes longer.
    time.sleep(0.005)


def _devices(c):
    def init():
        _watch_fork()
        atexit.register(_let_backward_threads_finish)
        import torch

        torch.cuda.default_generators = tuple(_default_generator(c, i) for i in range(_State.device_count))
        torch.cuda._get_device_properties = device_properties

    def device_count():
        _watch_fork()
        return _State.device_count

    def can_access_peer(device, peer):
        return device != peer

    def device_properties(device):
        return _State.properties.setdefault(device, _CudaDeviceProperties(c, device))

    return {
        "_cuda_init": init,
        "_cuda_isInBadFork": lambda: _State.in_bad_fork,
        "_cuda_getDeviceCount": device_count,
        "_cuda_getDevice": c._accelerator_getDeviceIndex,
        "_cuda_setDevice": c._accelerator_setDeviceIndex,
        "_cuda_exchangeDevice": _exchange(c._accelerator_exchangeDevice),
        "_cuda_maybeExchangeDevice": _exchange(c._accelerator_maybeExchangeDevice),
        "_cuda_canDeviceAccessPeer": can_access_peer,
        "_cuda_synchronize": lambda: c._accelerator_synchronizeDevice(c._accelerator_getDeviceIndex()),
        "_cuda_getArchFlags": lambda: None,
        "_cuda_getCompiledVersion": lambda: 0,
        "_cuda_ipc_collect": lambda: None,
        "_cuda_sleep": lambda cycles: None,
        "_CudaDeviceProperties": _CudaDeviceProperties,
        "_cudart": _cudart(c),
    }


def _exchange(exchange):
    # torch.cuda.device(-1) and device(None) leave the device as it is.
    return lambda device: -1 if device < 0 else exchange(device)


def _default_generator(c, index):
    # A generator object can only be made through getNewGenerator; asked this way, it hands out the default one.
    _State.library.devsan_sim_offer_default_generator(index)
    return c.Generator(device=f"cuda:{index}")


class _CudaDeviceProperties:
    def __init__(self, c, device):
        self.name = "DevSan simulated GPU"
        self.major, self.minor = _CAPABILITY
        self.total_memory = c._accelerator_getMemoryInfo(device)[1]
        self.multi_processor_count = os.cpu_count() or 1
        self.is_integrated = 0
        self.is_multi_gpu_board = 0
        self.max_threads_per_multi_processor = 2048
        self.max_threads_per_block = 1024
        self.regs_per_multiprocessor = 65536
        self.shared_memory_per_block = 49152
        self.shared_memory_per_block_optin = 166912
        self.shared_memory_per_multiprocessor = 167936
        self.warp_size = 32
        self.L2_cache_size = 40 << 20
        self.clock_rate = 1410000
        self.memory_clock_rate = 1215000
        self.memory_bus_width = 5120
        self.gcnArchName = ""
        self.uuid = f"00000000-0000-0000-0000-{device:012x}"
        self.pci_bus_id = self.pci_device_id = device
        self.pci_domain_id = 0

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count})"
        )


def _cudart(c):
    """torch._C._cudart, the part of it that torch and programs use."""
    module = types.ModuleType("torch._C._cudart")

    class cudaError(int):
        success = 0

    module.cudaError = cudaError
    module.cudaGetErrorString = lambda error: "no error" if int(error) == 0 else f"error {int(error)}"
    module.cudaMemGetInfo = lambda device: c._accelerator_getMemoryInfo(device)
    module.cudaProfilerStart = module.cudaProfilerStop = lambda: cudaError(0)
    module.cudaHostRegister = lambda pointer, size, flags: cudaError(0)
    module.cudaHostUnregister = lambda pointer: cudaError(0)
    return module


def _streams(c):
    class _CudaStreamBase(c.Stream):
        def __new__(cls, priority=0, stream_id=0, device_index=0, device_type=0, stream_ptr=0):
            if stream_ptr:
                stream_id, device_index, device_type = stream_ptr, c._accelerator_getDeviceIndex(), _CUDA
            if stream_id or device_index or device_type:
                return super().__new__(
                    cls, stream_id=stream_id, device_index=device_index, device_type=device_type or _CUDA
                )
            return super().__new__(cls, device=f"cuda:{c._accelerator_getDeviceIndex()}", priority=priority)

        @property
        def cuda_stream(self):
            return self.stream_id

        @property
        def priority(self):
            return 0

        @staticmethod
        def priority_range():
            return (0, -5)

    class _CudaEventBase(c.Event):
        def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
            event = super().__new__(
                cls, device="cuda", enable_timing=enable_timing, blocking=blocking, interprocess=interprocess
            )
            event._timed = enable_timing
            return event

        # The generic event takes no object of a derived class here.
        def elapsed_time(self, end_event):
            if not (self._timed and end_event._timed):
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            if not (self.event_id and end_event.event_id):
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            return _State.library.devsan_sim_elapsed_milliseconds(self.event_id, end_event.event_id)

        @property
        def cuda_event(self):
            return self.event_id

    def current_stream(device):
        stream = c._accelerator_getStream(device)
        return (stream.stream_id, stream.device_index, stream.device_type)

    def default_stream(device):
        return (0, device, _CUDA)

    def set_stream(stream_id, device_index, device_type):
        c._accelerator_setDeviceIndex(device_index)
        c._accelerator_setStream(
            c.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
        )

    return {
        "_CudaStreamBase": _CudaStreamBase,
        "_CudaEventBase": _CudaEventBase,
        "_cuda_getCurrentStream": current_stream,
        "_cuda_getCurrentRawStream": lambda device: current_stream(device)[0],
        "_cuda_getDefaultStream": default_stream,
        "_cuda_getStreamFromExternal": lambda pointer, device: (pointer, device, _CUDA),
        "_cuda_setStream": set_stream,
        "_cuda_isCurrentStreamCapturing": lambda: False,
    }


def _memory(c):
    def set_fraction(fraction, device):
        _State.memory_fraction[device] = fraction

    return {
        "_cuda_memoryStats": c._accelerator_getDeviceStats,
        "_cuda_resetAccumulatedMemoryStats": c._accelerator_resetAccumulatedStats,
        "_cuda_resetPeakMemoryStats": c._accelerator_resetPeakStats,
        "_cuda_emptyCache": lambda: None,
        "_cuda_getMemoryFraction": lambda device: _State.memory_fraction.get(device, 1.0),
        "_cuda_setMemoryFraction": set_fraction,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
        "_cuda_cudaCachingAllocator_enable": lambda value: None,
        "_cuda_hostMemoryStats": dict,
        "_cuda_resetAccumulatedHostMemoryStats": lambda: None,
        "_cuda_resetPeakHostMemoryStats": lambda: None,
        "_host_emptyCache": lambda: None,
        "_cuda_clearCublasWorkspaces": lambda: None,
        "_cuda_lock_mutex": lambda: None,
        "_cuda_unlock_mutex": lambda: None,
    }


def _settings(c):
    def set_sync_debug_mode(mode):
        _State.sync_debug_mode = mode

    return {
        "_cuda_get_sync_debug_mode": lambda: _State.sync_debug_mode,
        "_cuda_set_sync_debug_mode": set_sync_debug_mode,
    }


def _several_devices(c):
    from . import sim_comm

    return sim_comm.functions(sys.modules["torch"])


def _refused(c):
    """What has no meaning without a GPU, with the reason where torch would report an attribute error."""

    def function(name):
        def refuse(*args, **kwargs):
            raise NotImplementedError(f"not simulated: torch._C.{name}; run this on a real GPU")

        return refuse

    def cls(name):
        def refuse(cls, *args, **kwargs):
            raise NotImplementedError(f"not simulated: torch._C.{name}; run this on a real GPU")

        return type(name, (), {"__new__": refuse})

    functions = (
        "_cuda_getCurrentBlasHandle _cuda_getCurrentSolverHandle _cuda_memorySnapshot _cuda_record_memory_history "
        "_cuda_record_memory_history_legacy _cuda_jiterator_compile_and_launch_kernel _cuda_customAllocator "
        "_cuda_changeCurrentAllocator _cuda_getAllocator _cuda_cudaCachingAllocator_raw_alloc "
        "_cuda_cudaCachingAllocator_raw_delete _cuda_cudaHostAllocator _cuda_beginAllocateToPool "
        "_cuda_beginAllocateCurrentThreadToPool _cuda_endAllocateToPool _cuda_releasePool _graph_pool_handle"
    ).split()
    classes = "_CUDAGraph _MemPool _cuda_CUDAAllocator".split()
    return {name: function(name) for name in functions} | {name: cls(name) for name in classes}
