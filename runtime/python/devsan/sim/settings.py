"""Modes of torch.cuda."""

import sys
import warnings

_NOTICE = "Synchronization debug mode is a prototype feature and does not yet detect all synchronizing operations"


def functions(c, library):
    noticed = False

    def set_sync_debug_mode(mode):
        nonlocal noticed
        if not noticed or sys.modules["torch"].is_warn_always_enabled():
            noticed = True
            warnings.warn(_NOTICE, UserWarning, stacklevel=3)
        if not isinstance(mode, int):
            raise RuntimeError("invalid argument to set_sync_debug_mode")
        if not 0 <= mode <= 2:
            raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
        library.devsan_sim_set_sync_debug_mode(mode)

    return {
        "_cuda_get_sync_debug_mode": lambda: library.devsan_sim_sync_debug_mode(),
        "_cuda_set_sync_debug_mode": set_sync_debug_mode,
    }
