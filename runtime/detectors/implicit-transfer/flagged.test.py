# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
# RUN: %status 3 %sim --fail-on=device-implicit-transfer -- %python %s
import torch

table = torch.ones(8, 4, device="cuda:1")
rows = torch.tensor([1, 2])
for _ in range(3):
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: warning: copied 16 B cpu → cuda:1 in aten::index (`indices[0]`) although nothing asked for it, 3 times (48 B); the host waited for it [device-implicit-transfer]
    table[rows]
for _ in range(3):
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: warning: copied 8 B cpu → cuda:1 in aten::to for a tensor that is built from host values, 3 times (24 B); the host waited for it [device-implicit-transfer]
    torch.tensor([1.0, 2.0], device="cuda:1")
# CHECK-DAG: 2 findings
