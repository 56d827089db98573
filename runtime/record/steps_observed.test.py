# A line has another native stack while a profiler observes LibTorch's dispatcher, and in another thread. Its steps are
# counted as one: the budget holds.
# RUN: %status 0 %sim --max=device-host-sync=1/step -- %python %s 2>&1 | FileCheck %s
# CHECK: in aten::nonzero, 12 times; in every step [device-host-sync]
# CHECK-NOT: budget
import threading

import torch

import devsan

batch = torch.ones(3, 4, device="cuda:1")


def read():
    batch.nonzero()


for step in range(12):
    if step % 5 == 2:
        with torch.autograd.profiler.profile():
            read()
    elif step % 5 == 4:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    else:
        read()
    devsan.step()
