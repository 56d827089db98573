# RUN: %status 1 %sim -- %python %s 2>&1 | %file_check
import torch


def mask(x):
    # CHECK: flagged.test.py:[[#@LINE+3]]: error: a tensor (mask: bool [4]) was made on the current device, cuda:0, by a call that gives no index, and the others are on cuda:1: aten::masked_fill refused once [device-index-lost]
    # CHECK: flagged.test.py:[[#@LINE+1]]: note: made on cuda:0 here
    dropped = torch.ones(4, dtype=torch.bool, device=x.device.type)
    return x.masked_fill(dropped, 0.0)


mask(torch.ones(4, device="cuda:1"))
# CHECK: 1 finding (1 error, 0 warnings, 0 notes)
