"""Modes of torch.cuda."""


def functions(c, library):
    current = 0

    def set_sync_debug_mode(mode):
        nonlocal current
        current = mode

    return {
        "_cuda_get_sync_debug_mode": lambda: current,
        "_cuda_set_sync_debug_mode": set_sync_debug_mode,
    }
