"""Settings and markers of libraries that no simulated device runs: cuBLAS, cuDNN, TunableOp, NVTX.

Programs set them, read them back and expect to run on; nothing is computed otherwise because of them. Defaults and
environment variables are CUDA's.
"""

import os
import sys
import types

# cuBLAS: two buffers of 4 MiB and eight of 16 KiB; cuBLASLt: 1 MiB.
_CUBLAS_WORKSPACE = 2 * (4 << 20) + 8 * (16 << 10)
_CUBLASLT_WORKSPACE = 1 << 20

# NVTX without a tool that listens: no depth is tracked, a range's handle is 0.
_NO_PUSH_POP_TRACKING = -2


class _Setting:
    """A value with a getter and a setter, as pairs of functions of torch._C have it."""

    def __init__(self, value, kind, what):
        self.value, self.kind, self.what = value, kind, what

    def get(self):
        return self.value

    def set(self, value):
        # bool is an int, and no size
        if not isinstance(value, self.kind) or self.kind is int and isinstance(value, bool):
            raise TypeError(f"{self.what} expects {_KINDS[self.kind]}, but got {type(value).__name__}")
        self.value = value

    def set_natural(self, value):
        self.set(value)
        self.value = max(value, 0)


_KINDS = {bool: "a bool", int: "an int"}


def functions(c, library):
    return _libraries() | _tunable_op() | {"_nvtx": _nvtx()}


def _libraries():
    names = {
        "CublasWorkspaceSize": _CUBLAS_WORKSPACE,
        "CublasLtWorkspaceSize": _CUBLASLT_WORKSPACE,
    }
    given = {}
    for name, default in names.items():
        setting = _Setting(default, int, f"set_{name}")
        given[f"_cuda_get{name}"] = setting.get
        given[f"_cuda_set{name}"] = setting.set_natural
        given[f"_cuda_reset{name}"] = lambda setting=setting, default=default: setting.set(default)
    limit = _Setting(10, int, "set_benchmark_limit_cudnn")
    empty_cache = _Setting(False, bool, "set_conv_benchmark_empty_cache")
    return given | {
        "_cuda_get_cudnn_benchmark_limit": limit.get,
        "_cuda_set_cudnn_benchmark_limit": limit.set,
        "_cuda_get_conv_benchmark_empty_cache": empty_cache.get,
        "_cudnn_set_conv_benchmark_empty_cache": empty_cache.set,
    }


def _tunable_op():
    """torch.cuda.tunable: there is one implementation of every operator, so tuning finds no results."""

    def switch(name, default, variable):
        return _Setting(os.environ.get(variable, default) == "1", bool, name)

    def number(name, default, variable):
        text = os.environ.get(variable, "")
        return _Setting(max(int(text), 0) if text.lstrip("-").isdigit() else default, int, name)

    enabled = switch("cuda_tunableop_enable", "0", "PYTORCH_TUNABLEOP_ENABLED")
    tuning = switch("cuda_tunableop_tuning_enable", "1", "PYTORCH_TUNABLEOP_TUNING")
    untuned = switch("cuda_record_untuned_enable", "0", "PYTORCH_TUNABLEOP_RECORD_UNTUNED")
    duration = number("cuda_tunableop_set_max_tuning_duration", 30, "PYTORCH_TUNABLEOP_MAX_TUNING_DURATION_MS")
    iterations = number("cuda_tunableop_set_max_tuning_iterations", 100, "PYTORCH_TUNABLEOP_MAX_TUNING_ITERATIONS")
    rotating = number("cuda_tunableop_set_rotating_buffer_size", 0, "PYTORCH_TUNABLEOP_ROTATING_BUFFER_SIZE")
    filename = os.environ.get("PYTORCH_TUNABLEOP_FILENAME", "tunableop_results.csv")

    def with_ordinal(name, device):
        stem, extension = os.path.splitext(name)
        return f"{stem}{device}{extension}"

    def set_filename(name, insert_device_ordinal=False):
        nonlocal filename
        filename = with_ordinal(name, _current_device()) if insert_device_ordinal else name

    def get_filename():
        return filename

    def read_file(name=None):
        return os.path.exists(name or filename)

    def validators():
        return (("PT_VERSION", sys.modules["torch"].__version__.split("+")[0]),)

    return {
        "_cuda_tunableop_enable": enabled.set,
        "_cuda_tunableop_is_enabled": enabled.get,
        "_cuda_tunableop_tuning_enable": tuning.set,
        "_cuda_tunableop_tuning_is_enabled": tuning.get,
        "_cuda_record_untuned_enable": untuned.set,
        "_cuda_record_untuned_is_enabled": untuned.get,
        "_cuda_tunableop_set_max_tuning_duration": duration.set_natural,
        "_cuda_tunableop_get_max_tuning_duration": duration.get,
        "_cuda_tunableop_set_max_tuning_iterations": iterations.set_natural,
        "_cuda_tunableop_get_max_tuning_iterations": iterations.get,
        "_cuda_tunableop_set_rotating_buffer_size": rotating.set_natural,
        "_cuda_tunableop_get_rotating_buffer_size": rotating.get,
        "_cuda_tunableop_set_filename": set_filename,
        "_cuda_tunableop_get_filename": get_filename,
        "_cuda_tunableop_read_file": read_file,
        "_cuda_tunableop_get_results": lambda: (),
        "_cuda_tunableop_get_validators": validators,
        "_cuda_tunableop_set_numerical_check_tolerances": lambda enabled, atol=1e-5, rtol=1e-5: None,
    }


def _current_device():
    return sys.modules["torch._C"]._accelerator_getDeviceIndex()


def _nvtx():
    module = types.ModuleType("torch._C._nvtx")
    module.rangePushA = lambda message: _NO_PUSH_POP_TRACKING
    module.rangePop = lambda: _NO_PUSH_POP_TRACKING
    module.rangeStartA = lambda message: 0
    module.rangeEnd = lambda identifier: None
    module.markA = lambda message: None
    module.deviceRangeStart = lambda message, stream: object()
    module.deviceRangeEnd = lambda handle, stream: None
    return module
