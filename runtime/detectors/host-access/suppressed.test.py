# RUN: echo 'device-host-access = "function:*Peek*"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import ctypes

import torch


def deliberatePeek(tensor):
    return ctypes.cast(tensor.data_ptr(), ctypes.POINTER(ctypes.c_float))[0]


deliberatePeek(torch.ones(4, device="cuda:1"))
# CHECK: no findings, 1 suppressed
