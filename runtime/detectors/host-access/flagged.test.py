# RUN: %status 3 %sim -- %python %s 2>&1 | %file_check
import ctypes

import torch


def first(tensor):
    values = ctypes.cast(tensor.data_ptr(), ctypes.POINTER(ctypes.c_float))
    # CHECK: flagged.test.py:[[#@LINE+1]]: error: host code reads the memory of a tensor on cuda:1 (16 B), 3 times [device-host-access]
    return values[0]


# CHECK-DAG: flagged.test.py:[[#@LINE+1]]: note: moved to cuda:1 here
x = torch.ones(4).to("cuda:1")
for _ in range(3):
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: note: called from <module>
    assert first(x) == 1
    x.mul_(1)
# CHECK: 1 finding (1 error, 0 warnings, 0 notes)
