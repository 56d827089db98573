"""Memory statistics and limits of torch.cuda."""


def functions(c, library):
    fractions = {}

    def set_fraction(fraction, device):
        fractions[device] = fraction

    return {
        "_cuda_memoryStats": c._accelerator_getDeviceStats,
        "_cuda_resetAccumulatedMemoryStats": c._accelerator_resetAccumulatedStats,
        "_cuda_resetPeakMemoryStats": c._accelerator_resetPeakStats,
        "_cuda_emptyCache": lambda: None,
        "_cuda_getMemoryFraction": lambda device: fractions.get(device, 1.0),
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
