"""Triton's kernels on simulated devices: its own interpreter runs them, over the memory of the device's tensors."""

import copy
import functools

import torch

from . import graphs
from .host_functions import HostFunction


def prepare_interpreter(module):
    """`module` is triton.runtime.interpreter."""
    share_memory(module)
    look_compiled(module)


def share_memory(interpreter):
    """The interpreter copies what a kernel gets to the host and back. What lies there already is not copied, so the host
    waits for nothing, and a kernel writes what it writes and no more."""
    launch = interpreter.GridExecutor.__call__

    @functools.wraps(launch)
    def run(self, *args, **kwargs):
        tensors = []
        _replace((args, kwargs), lambda tensor: tensors.append(tensor) or tensor)
        if not tensors:
            return launch(self, *args, **kwargs)

        def on_host(read, written, numbers):
            aliases = iter((*read, *written))
            host_args, host_kwargs = _replace((args, kwargs), lambda tensor: next(aliases))
            launch(self, *host_args, **host_kwargs)
            # Which it has written is not known: as a result, memory that nobody has written before counts as written.
            return [*read, *written]

        # A graph that is captured has to put back what its kernels may have written.
        as_written = graphs.is_capturing()
        lists = ([], tensors) if as_written else (tensors, [])
        HostFunction(on_host)(tensors[0].device, *lists)

    # Dynamo is not to look inside where it does not know a kernel: the graph breaks.
    interpreter.GridExecutor.__call__ = torch._disable_dynamo(run)


def look_compiled(interpreter):
    """PyTorch's compilers put calls of kernels into their graphs that they know as compiled functions."""
    from triton.runtime.jit import JITFunction

    class Interpreted(interpreter.InterpretedFunction):
        @property
        def __class__(self):
            return JITFunction if torch._guards.TracingContext.try_get() else type(self)

        @functools.cached_property
        def _compiled(self):
            return JITFunction(self.fn)

        def __getattr__(self, name):
            if name == "fn" or name.startswith("__"):
                raise AttributeError(name)
            return getattr(self._compiled, name)

    interpreter.InterpretedFunction = Interpreted


def _replace(value, on_device):
    """`value` with `on_device(tensor)` for each device tensor in it, in containers and in Triton's wrappers of tensors."""
    if isinstance(value, torch.Tensor):
        return on_device(value) if value.is_cuda else value
    if isinstance(value, dict):
        return {key: _replace(element, on_device) for key, element in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replace(element, on_device) for element in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_replace(element, on_device) for element in value)
    if isinstance(base := getattr(value, "base", None), torch.Tensor):
        wrapper = copy.copy(value)
        wrapper.base = _replace(base, on_device)
        return wrapper
    return value


def set_driver(module):
    """`module` is triton.runtime.driver. Kernels, tuners and libraries ask it what device there is; none is to look for
    NVIDIA's driver."""
    module.driver.set_active(_Driver())


class _Driver:
    """What triton.backends.driver.DriverBase declares, as far as nothing is compiled or launched."""

    @classmethod
    def is_active(cls):
        return True

    def __init__(self):
        self.utils = _Utils()
        self.get_current_device = lambda: torch.cuda.current_device()
        self.set_current_device = lambda device: torch.cuda.set_device(device)
        self.get_current_stream = lambda device=None: torch.cuda.current_stream(device).cuda_stream
        self.get_device_capability = lambda device=None: torch.cuda.get_device_capability(device)

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        major, minor = torch.cuda.get_device_capability()
        return GPUTarget("cuda", major * 10 + minor, 32)

    def get_active_torch_device(self):
        return torch.device("cuda", torch.cuda.current_device())

    def get_device_interface(self):
        return torch.cuda

    def map_python_to_cpp_type(self, ty):
        raise NotImplementedError(f"not simulated: a compiled Triton kernel's parameter {ty}; run this on a real GPU")

    def get_benchmarker(self):
        """Times of an interpreter tell nothing of a GPU's: all configurations are equal, and the first one is taken."""

        def equal(kernel_call, *, quantiles=None, **kwargs):
            return [0.0] * len(quantiles) if quantiles else 0.0

        return equal

    def get_empty_cache_for_benchmark(self):
        return torch.empty(0, dtype=torch.int, device="cuda")

    def clear_cache(self, cache):
        pass


class _Utils:
    def get_device_properties(self, device):
        properties = torch.cuda.get_device_properties(device)
        return {
            "max_shared_mem": getattr(properties, "shared_memory_per_block_optin", 0),
            "max_num_regs": getattr(properties, "regs_per_multiprocessor", 65536),
            "multiprocessor_count": properties.multi_processor_count,
            "warpSize": getattr(properties, "warp_size", 32),
            "sm_clock_rate": getattr(properties, "clock_rate", 0),
            "mem_clock_rate": getattr(properties, "memory_clock_rate", 0),
            "mem_bus_width": getattr(properties, "memory_bus_width", 0),
        }
