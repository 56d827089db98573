"""Devices, their properties, and what a forked child may do with them."""

import ctypes
import os
import sys
import types

# What a program asks to know what was built, and for what: PyTorch's CUDA 12.8 wheel on an A100. Extensions are built
# for that CUDA (runtime/cuda/toolkit).
_CUDA_VERSION = "12.8"
_ARCHITECTURES = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
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
            # Where LibTorch lacks it, only torch.cuda's own functions refuse in a child.
            register = getattr(ctypes.PyDLL(_torch_python_library()), _REGISTER_FORK_HANDLER, None)
            cls.watched = True
            os.register_at_fork(after_in_child=cls.enter_child)
            if register is not None:
                register(ctypes.c_int8(_CUDA))

    @classmethod
    def enter_child(cls):
        cls.bad = True


def _torch_python_library():
    return os.path.join(os.path.dirname(sys.modules["torch._C"].__file__), "lib", "libtorch_python.so")


def functions(c, library):
    library.devsan_sim_is_used.restype = ctypes.c_bool
    count = library.devsan_sim_device_count  # asked late: it fixes what CUDA_VISIBLE_DEVICES shows
    properties = {}

    def init():
        if count() == 0:
            raise RuntimeError("No CUDA GPUs are available")
        _Fork.watch()
        library.devsan_sim_initialize()
        import torch

        torch.cuda.default_generators = tuple(_default_generator(c, library, i) for i in range(count()))
        torch.cuda._get_device_properties = device_properties

    def device_count():
        _Fork.watch()
        return count()

    def can_access_peer(device, peer):
        for index in (device, peer):
            _check_integer(index, "canDeviceAccessPeer")
            if not 0 <= index < count():
                raise RuntimeError(f"device id must be between 0 and {count() - 1}, but got {index}")
        return device != peer

    def synchronize():
        c._accelerator_synchronizeDevice(c._accelerator_getDeviceIndex())

    def sleep(cycles):
        if not isinstance(cycles, int) or isinstance(cycles, bool):
            raise TypeError("torch.cuda._sleep(): expected 'int'")
        stream = c._accelerator_getStream(c._accelerator_getDeviceIndex())
        library.devsan_sim_occupy_stream(ctypes.c_int64(stream.stream_id), stream.device_index)

    def has_primary_context(device):
        _check_integer(device, "hasPrimaryContext")
        if not 0 <= device < count():
            raise RuntimeError(f"hasPrimaryContext expects a valid device index, but got device_index={device}")
        return library.devsan_sim_is_used(device)

    def device_properties(device):
        if device not in properties:
            properties[device] = _CudaDeviceProperties(c, device, library.devsan_sim_physical_index(device))
        return properties[device]

    return {
        "_cuda_init": init,
        "_cuda_isInBadFork": lambda: _Fork.bad,
        "_cuda_getDeviceCount": device_count,
        "_cuda_getDevice": c._accelerator_getDeviceIndex,
        "_cuda_setDevice": _set(c._accelerator_setDeviceIndex, library),
        "_cuda_hasPrimaryContext": has_primary_context,
        "_cuda_exchangeDevice": _exchange(c._accelerator_exchangeDevice, "exchangeDevice"),
        "_cuda_maybeExchangeDevice": _exchange(c._accelerator_maybeExchangeDevice, "maybeExchangeDevice"),
        "_cuda_canDeviceAccessPeer": can_access_peer,
        "_cuda_synchronize": synchronize,
        "_cuda_getArchFlags": lambda: _ARCHITECTURES,
        "_cuda_getCompiledVersion": lambda: _compiled_version(_CUDA_VERSION),
        "_cuda_ipc_collect": lambda: None,
        "_cuda_sleep": sleep,
        "_CudaDeviceProperties": _CudaDeviceProperties,
        "_CUuuid": _CUuuid,
        "_cudart": _cudart(c, library),
    }


def set_versions(torch):
    """Programs take `torch.version.cuda is None` for "there is no CUDA here", and torch's own tests parse it."""
    torch.version.cuda = _CUDA_VERSION


def provide_toolkit():
    """What torch.utils.cpp_extension compiles .cu files with: NVIDIA's own has nothing of LibTorch's to link with."""
    if standin := os.environ.get("DEVSAN_CUDA_STANDIN"):
        os.environ["CUDA_HOME"] = os.path.join(os.path.dirname(os.path.dirname(standin)), "share", "devsan", "cuda")


def _compiled_version(version):
    major, minor = version.split(".")
    return int(major) * 1000 + int(minor) * 10


def _check_integer(value, function):
    if not isinstance(value, int) or isinstance(value, bool):
        raise RuntimeError(f"invalid argument to {function}")


def _set(set_device, library):
    def set_index(device):
        _check_integer(device, "setDevice")
        set_device(device)
        library.devsan_sim_mark_context(device, b"cudaSetDevice")

    return set_index


def _exchange(exchange, function):
    def exchange_index(device):
        _check_integer(device, function)
        # torch.cuda.device(-1) and device(None) leave the device as it is.
        return -1 if device < 0 else exchange(device)

    return exchange_index



def _default_generator(c, library, index):
    # A generator object can only be made through getNewGenerator; asked this way, it hands out the default one.
    library.devsan_sim_offer_default_generator(index)
    return c.Generator(device=f"cuda:{index}")


class _CUuuid:
    def __init__(self, content):
        self.bytes = list(content)

    def __str__(self):
        digits = bytes(self.bytes).hex()
        return "-".join(digits[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))


class _CudaDeviceProperties:
    """Figures of an A100, the same on every machine, except for the memory: programs size their work by them."""

    def __init__(self, c, device, physical):
        self.name = self.gcnArchName = "DevSan simulated GPU"
        self.major, self.minor = _CAPABILITY
        self.total_memory = c._accelerator_getMemoryInfo(device)[1]
        self.multi_processor_count = 108
        self.is_integrated = 0
        self.is_multi_gpu_board = 0
        self.max_threads_per_multi_processor = 2048
        self.max_threads_per_block = 1024
        self.max_blocks_per_multi_processor = 32
        self.regs_per_multiprocessor = 65536
        self.shared_memory_per_block = 49152
        self.shared_memory_per_block_optin = 166912
        self.shared_memory_per_multiprocessor = 167936
        self.warp_size = 32
        self.L2_cache_size = 40 << 20
        self.clock_rate = 1410000
        self.memory_clock_rate = 1215000
        self.memory_bus_width = 5120
        self.uuid = _CUuuid(b"DevSan" + bytes(8) + physical.to_bytes(2, "big"))
        self.pci_bus_id = physical + 1
        self.pci_device_id = self.pci_domain_id = 0

    def __repr__(self):
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory >> 20}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size >> 20}MB)"
        )


_ERRORS = {
    0: "no error",
    1: "invalid argument",
    2: "out of memory",
    101: "invalid device ordinal",
    400: "invalid resource handle",
    712: "part or all of the requested memory range is already mapped",
    713: "pointer does not correspond to a registered memory region",
}


def _cudart(c, library):
    """torch._C._cudart, with all that a CUDA build has there."""
    module = types.ModuleType("torch._C._cudart")

    class cudaError(int):
        @property
        def value(self):
            return int(self)

    cudaError.success = cudaError(0)

    def memory_info(device):
        library.devsan_sim_mark_context(device, b"cudaMemGetInfo")
        return c._accelerator_getMemoryInfo(device)

    def stream_create(pointer):
        stream = c.Stream(device=f"cuda:{c._accelerator_getDeviceIndex()}")
        ctypes.c_void_p.from_address(pointer).value = stream.native_handle
        return cudaError(0)

    def host_register(pointer, size, flags):
        return cudaError(library.devsan_sim_register_host(pointer, size))

    def host_unregister(pointer):
        return cudaError(library.devsan_sim_unregister_host(pointer))

    module.cudaError = cudaError
    module.cudaGetErrorString = lambda error: _ERRORS.get(int(error), "unrecognized error code")
    module.cudaMemGetInfo = memory_info
    module.cudaProfilerStart = module.cudaProfilerStop = lambda: cudaError(0)
    module.cudaHostRegister = host_register
    module.cudaHostUnregister = host_unregister
    module.cudaStreamCreate = stream_create
    module.cudaStreamDestroy = lambda stream: cudaError(0 if stream else 400)
    return module
