# RUN: echo 'device-implicit-transfer = ["*suppressed.test.py"]' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

torch.ones(8, 4, device="cuda:1")[torch.tensor([1, 2])]
# CHECK: no findings, 1 suppressed
