# Where `.cuda()` goes is the current device, whatever its number; `.cuda(0)` says where.
# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
import torch

first = torch.ones(4, device="cuda:0")
second = torch.ones(4, device="cuda:1")
second.cuda(0)
second.cuda(device=0, non_blocking=True)
second.cuda(
    0
)
with torch.cuda.device(1):
    # CHECK-DAG: current_device.test.py:[[#@LINE+1]]: warning: a tensor on cuda:0 was moved to the current device, cuda:1, in aten::to, once (16 B) [device-bare-cuda]
    first.cuda()
# CHECK-DAG: current_device.test.py:[[#@LINE+1]]: warning: a tensor on cuda:1 was moved to the current device, cuda:0, in aten::to, once (16 B) [device-bare-cuda]
second.cuda(non_blocking=True)
# CHECK-DAG: 2 findings
