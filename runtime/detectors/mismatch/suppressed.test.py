# RUN: echo 'device-mismatch = "function:*Refused"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch


def mixedDevicesAreRefused():
    try:
        torch.ones(4, device="cuda:1") + torch.ones(4)
    except RuntimeError:
        pass


mixedDevicesAreRefused()
# CHECK: no findings, 1 suppressed
