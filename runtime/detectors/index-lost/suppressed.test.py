# RUN: echo 'device-index-lost = "*/suppressed.test.py"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

try:
    torch.ones(4, device="cuda:1") + torch.ones(4, device="cuda")
except RuntimeError:
    pass
# CHECK: no findings, 1 suppressed
