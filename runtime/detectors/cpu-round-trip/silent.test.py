# RUN: %status 0 %sim --fail-on=warning -- %python %s 2>&1 | %file_check
import torch

import devsan

device = torch.device("cuda:1")
x = torch.ones(4, device=device)
x.cpu()                                         # goes, and stays
torch.zeros(4).to(device)                       # other data comes
x.cumsum(0)
with devsan.allow_transfer(), devsan.allow_sync():
    x.cpu().cumsum(0).to(device)
# CHECK: no findings
