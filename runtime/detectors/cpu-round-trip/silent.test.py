# RUN: echo 'device-cpu-round-trip = "function:onTheHost"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

import devsan

# Suppressed.
def onTheHost(x):
    return x.cpu().cumsum(0).to(x.device)


onTheHost(torch.ones(4, device="cuda:1"))

# Silent.
device = torch.device("cuda:1")
x = torch.ones(4, device=device)
x.cpu()                                         # goes, and stays
torch.zeros(4).to(device)                       # other data comes
x.cumsum(0)
with devsan.allow_transfer(), devsan.allow_sync():
    x.cpu().cumsum(0).to(device)
# CHECK: no findings, 1 suppressed
