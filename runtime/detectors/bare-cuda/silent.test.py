# RUN: echo 'device-bare-cuda = "*/silent.test.py"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

# Suppressed.
torch.ones(4, device="cuda:1").cuda()

# Silent.
x = torch.ones(4, device="cuda:1")
x.cuda(1)
torch.ones(4).cuda()
x.to("cuda:0")                # split models name the device
with torch.cuda.device(1):
    x.cuda()
# CHECK: no findings, 1 suppressed
