# RUN: %status 3 %sim -- %python %s 2>&1 | %file_check
# What nothing orders, but the host has waited for later work in between: no bug in practice where it is done once, as where
# a model is made on a side stream. In a loop the next round may be faster.
import torch

import devsan

side = torch.cuda.Stream()
with torch.cuda.stream(side):
    weight = torch.full((1024,), 2.0, device="cuda")
x = torch.ones(1024, device="cuda")
with devsan.allow_sync():
    x.sum().item()
# CHECK-DAG: settled.test.py:[[#@LINE+1]]: warning: aten::mul reads on the default stream of cuda:0 what aten::full writes on stream 3 of cuda:0, and no event or wait orders them, though the host waited for later work in between, once (4.1 KB) [device-stream-race]
y = x * weight

batch = None
for _ in range(4):
    with torch.cuda.stream(side):
        following = torch.full((1024,), 3.0, device="cuda")
    if batch is not None:
        # CHECK-DAG: settled.test.py:[[#@LINE+1]]: error: aten::add reads on the default stream of cuda:0 what aten::full writes on stream 3 of cuda:0, and no event or wait orders them, 3 times (4.1 KB) [device-stream-race]
        y = y + batch
    with devsan.allow_sync():
        y.sum().item()
    batch = following
# CHECK-DAG: 2 findings (1 error, 1 warning, 0 notes)
