# RUN: %status 0 %sim --fail-on=warning -- %python %s 2>&1 | %file_check
import torch

x = torch.ones(4, device="cuda:1")
with torch.cuda.device(x.device):
    x + torch.ones(4, device="cuda")
torch.cuda.set_device(1)
x + torch.ones(4, device="cuda")
# CHECK: no findings
