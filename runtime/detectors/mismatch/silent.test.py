# RUN: echo 'device-mismatch = "function:*Refused"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

# Suppressed.
def mixedDevicesAreRefused():
    try:
        torch.ones(4, device="cuda:1") + torch.ones(4)
    except RuntimeError:
        pass


mixedDevicesAreRefused()

# Silent.
x = torch.ones(4, device="cuda:1")
x + 1.0
x + torch.tensor(1.0)     # a scalar of the host is welcome everywhere
x + torch.ones(4).to(x.device)
# CHECK: no findings, 1 suppressed
