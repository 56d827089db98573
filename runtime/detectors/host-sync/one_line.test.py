# Reads that stand side by side on one line are no loop; one that is repeated there is.
# RUN: %status 0 %sim --report=%t.txt -- %python %s
# RUN: %file_check < %t.txt
import torch

x = torch.ones(3, device="cuda:1")
# CHECK-DAG: one_line.test.py:[[#@LINE+1]]: note: the host waited for cuda:1 in aten::item, 3 times [device-host-sync]
a, b, c = x[0].item(), x[1].item(), x[2].item()
# CHECK-DAG: one_line.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in aten::item, 3 times [device-host-sync]
values = [value.item() for value in x.unbind()]
