# A buffer on the host that is used again: what replaces all of it ends the way of what was there.
# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
import torch

device = torch.device("cuda:1")
x = torch.ones(4, device=device)
staging = torch.empty(4)
other = torch.empty(4)
staging.copy_(x)
staging.fill_(1)
staging.to(device)
staging.copy_(x)
staging.copy_(torch.ones(4))
staging.to(device)
staging.copy_(x)
torch.add(torch.ones(4), 1, out=staging)
staging.to(device)

staging.copy_(x)
staging[:2].fill_(1)
# CHECK-DAG: staging.test.py:[[#@LINE+1]]: warning: data of cuda:1 went to the host, and 16 B of it, or made from it, came back to cuda:1 in aten::to, once (16 B) [device-cpu-round-trip]
staging.to(device)
staging.fill_(1)
staging.copy_(x)
torch.add(staging, 1, out=staging)
# CHECK-DAG: staging.test.py:[[#@LINE+1]]: warning: data of cuda:1 went to the host, and 16 B of it, or made from it, came back to cuda:1 in aten::to, once (16 B) [device-cpu-round-trip]
staging.to(device)
other.copy_(staging)
staging.zero_()
# CHECK-DAG: staging.test.py:[[#@LINE+1]]: warning: data of cuda:1 went to the host, and 16 B of it, or made from it, came back to cuda:1 in aten::to, once (16 B) [device-cpu-round-trip]
other.to(device)
# CHECK-DAG: 3 findings
