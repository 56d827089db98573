# RUN: echo 'device-index-lost = "*/silent.test.py"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

# Suppressed.
try:
    torch.ones(4, device="cuda:1") + torch.ones(4, device="cuda")
except RuntimeError:
    pass

# Silent.
x = torch.ones(4, device="cuda:1")
with torch.cuda.device(x.device):
    x + torch.ones(4, device="cuda")
torch.cuda.set_device(1)
x + torch.ones(4, device="cuda")
# CHECK: no findings, 1 suppressed
