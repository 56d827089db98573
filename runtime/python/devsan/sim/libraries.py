"""What torch.backends asks about CUDA's libraries: cuDNN and the attention kernels."""

import enum
import types

_CUDNN_VERSION = (9, 15, 1)  # also in runtime/sim/hooks.cpp


class _RNNMode(enum.IntEnum):
    rnn_relu = 0
    rnn_tanh = 1
    lstm = 2
    gru = 3


def _cudnn():
    """torch._C._cudnn. A simulated device has cuDNN, so that layers take the operators that they take on a GPU."""
    major, minor, patch = _CUDNN_VERSION
    module = types.ModuleType("torch._C._cudnn")
    module.is_cuda = True
    module.RNNMode = _RNNMode
    module.getVersionInt = lambda: major * 10000 + minor * 100 + patch
    module.getRuntimeVersion = module.getCompileVersion = lambda: _CUDNN_VERSION
    return module


def functions(c, library):
    def can_use(backend):
        def ask(params, debug=False):
            return _ask_attention(backend, params, debug)

        return ask

    return {
        "_cudnn": _cudnn(),
        "_has_cudnn": True,
        "_is_flash_attention_available": lambda: True,
        "_can_use_flash_attention": can_use(_FLASH),
        "_can_use_mem_efficient_attention": can_use(_EFFICIENT),
        "_can_use_cudnn_attention": can_use(_CUDNN),
    }


# at::SDPBackend
_FLASH, _EFFICIENT, _CUDNN = 1, 2, 3


def _ask_attention(backend, params, debug):
    import torch

    return torch.ops.devsan_sim.can_use_attention(
        params.query,
        params.key,
        params.value,
        params.attn_mask,
        params.dropout,
        params.is_causal,
        params.enable_gqa,
        backend,
        debug,
    )
