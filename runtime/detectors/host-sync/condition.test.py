# A tensor in a condition is read although nobody spelled it out.
# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
import torch

x = torch.ones(4, device="cuda:1")
# CHECK: condition.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in aten::is_nonzero (a tensor as a condition), once [device-host-sync]
if x.any():
    pass
# Printing is a wish to see the values.
print(x)
