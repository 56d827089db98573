# Printing a tensor reads and copies it in many places of torch's: one statement, one finding, and once is no loop.
# RUN: %status 0 %sim --report=%t.txt -- %python %s
# RUN: %file_check < %t.txt
import torch

floats, integers = torch.ones(3, device="cuda:1"), torch.arange(3, device="cuda:1")
# CHECK-DAG: print.test.py:[[#@LINE+1]]: note: the host waited for cuda:1 in print, {{[0-9]+}} times (12 B cuda:1 → cpu) [device-host-sync]
print(floats)
# CHECK-DAG: print.test.py:[[#@LINE+1]]: note: the host waited for cuda:1 in print, {{[0-9]+}} times (24 B cuda:1 → cpu) [device-host-sync]
print(integers)
for _ in range(3):
    # CHECK-DAG: print.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in print, {{[0-9]+}} times (36 B cuda:1 → cpu) [device-host-sync]
    print(floats)
# CHECK-DAG: 3 findings (0 errors, 1 warning, 2 notes)
