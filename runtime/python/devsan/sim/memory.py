"""Memory of torch.cuda: statistics, limits, the list of segments, and memory without a tensor."""

import ctypes
import json


def _declare(library):
    library.devsan_sim_allocate.argtypes = [ctypes.c_size_t, ctypes.c_int64, ctypes.POINTER(ctypes.c_char_p)]
    library.devsan_sim_allocate.restype = ctypes.c_void_p
    library.devsan_sim_release.argtypes = [ctypes.c_void_p]
    library.devsan_sim_release.restype = ctypes.c_bool
    library.devsan_sim_enable_caching.argtypes = [ctypes.c_bool]
    library.devsan_sim_enable_caching.restype = None
    library.devsan_sim_caching_is_enabled.restype = ctypes.c_bool
    library.devsan_sim_set_memory_fraction.argtypes = [ctypes.c_int, ctypes.c_double]
    library.devsan_sim_set_memory_fraction.restype = None
    library.devsan_sim_memory_fraction.argtypes = [ctypes.c_int]
    library.devsan_sim_memory_fraction.restype = ctypes.c_double
    library.devsan_sim_memory_snapshot.restype = ctypes.c_void_p


def functions(c, library):
    _declare(library)
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]

    def raw_alloc(size, stream):
        message = ctypes.c_char_p()
        address = library.devsan_sim_allocate(size, stream, ctypes.byref(message))
        if address is None and message.value is not None:
            raise c.OutOfMemoryError(message.value.decode())
        return address or 0

    def raw_delete(address):
        if address and not library.devsan_sim_release(address):
            raise RuntimeError(f"invalid device pointer: {address:#x}")

    def memory_stats(device):
        statistics = c._accelerator_getDeviceStats(device)
        statistics.setdefault("num_oom_rejections", 0)
        return statistics

    def snapshot(_request=None):
        text = library.devsan_sim_memory_snapshot()
        segments = json.loads(ctypes.string_at(text))
        libc.free(text)
        for segment in segments:
            segment["is_expandable"] = False
            segment["segment_pool_id"] = (0, segment["segment_pool_id"])
            segment["frames"] = []
            for block in segment["blocks"]:
                block["frames"] = []
        return {
            "segments": segments,
            "device_traces": [[] for _ in range(library.devsan_sim_device_count())],
            "allocator_settings": {"PYTORCH_ALLOC_CONF": c._accelerator_getAllocatorSettings()},
            "external_annotations": [],
        }

    def record_history(enabled=None, *_arguments, **_options):
        if enabled:
            raise NotImplementedError(
                "not simulated: torch.cuda.memory._record_memory_history; run this on a real GPU, "
                "or look at torch.cuda.memory_snapshot(), which has the segments and blocks"
            )

    return {
        "_cuda_memoryStats": memory_stats,
        "_cuda_resetAccumulatedMemoryStats": c._accelerator_resetAccumulatedStats,
        "_cuda_resetPeakMemoryStats": c._accelerator_resetPeakStats,
        "_cuda_emptyCache": c._accelerator_emptyCache,
        "_cuda_getMemoryFraction": library.devsan_sim_memory_fraction,
        "_cuda_setMemoryFraction": lambda fraction, device: library.devsan_sim_set_memory_fraction(device, fraction),
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_cudaCachingAllocator_is_enabled": library.devsan_sim_caching_is_enabled,
        "_cuda_cudaCachingAllocator_enable": library.devsan_sim_enable_caching,
        "_cuda_cudaCachingAllocator_raw_alloc": raw_alloc,
        "_cuda_cudaCachingAllocator_raw_delete": raw_delete,
        "_cuda_memorySnapshot": snapshot,
        "_cuda_record_memory_history": record_history,
        "_cuda_record_memory_history_legacy": record_history,
        "_cuda_hostMemoryStats": dict,
        "_cuda_resetAccumulatedHostMemoryStats": lambda: None,
        "_cuda_resetPeakHostMemoryStats": lambda: None,
        "_host_emptyCache": getattr(c, "_accelerator_emptyHostCache", lambda: None),
        "_cuda_clearCublasWorkspaces": lambda: None,
        "_cuda_lock_mutex": lambda: None,
        "_cuda_unlock_mutex": lambda: None,
    }
