"""Devices, their properties, and what a forked child may do with them."""

import atexit
import ctypes
import os
import sys
import types

_CAPABILITY = (8, 0)
_CUDA = 1  # c10::DeviceType::CUDA

# torch::utils::register_fork_handler_for_device_init: makes a forked child ask torch.cuda again, which then refuses.
_REGISTER_FORK_HANDLER = "_ZN5torch5utils37register_fork_handler_for_device_initEN3c1010DeviceTypeE"


class _Fork:
    """As on CUDA, a child forked after the first use of a device cannot use devices."""

    watched = False
    bad = False

    @classmethod
    def watch(cls):
        if not cls.watched:
            cls.watched = True
            os.register_at_fork(after_in_child=cls.enter_child)
            getattr(ctypes.PyDLL(_torch_python_library()), _REGISTER_FORK_HANDLER)(ctypes.c_int8(_CUDA))

    @classmethod
    def enter_child(cls):
        cls.bad = True


def _torch_python_library():
    return os.path.join(os.path.dirname(sys.modules["torch._C"].__file__), "lib", "libtorch_python.so")


def functions(c, library):
    count = library.devsan_sim_device_count()
    properties = {}

    def init():
        _Fork.watch()
        # A device's autograd thread still owes Python references after backward() has returned. It would find the
        # interpreter gone and abort the process if a short program ended at once.
        atexit.register(library.devsan_sim_finish_backward)
        import torch

        torch.cuda.default_generators = tuple(_default_generator(c, library, i) for i in range(count))
        torch.cuda._get_device_properties = device_properties

    def device_count():
        _Fork.watch()
        return count

    def can_access_peer(device, peer):
        return device != peer

    def device_properties(device):
        return properties.setdefault(device, _CudaDeviceProperties(c, device))

    return {
        "_cuda_init": init,
        "_cuda_isInBadFork": lambda: _Fork.bad,
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


def _default_generator(c, library, index):
    # A generator object can only be made through getNewGenerator; asked this way, it hands out the default one.
    library.devsan_sim_offer_default_generator(index)
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
