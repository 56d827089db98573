# RUN: echo 'device-cpu-round-trip = "function:onTheHost"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch


def onTheHost(x):
    return x.cpu().cumsum(0).to(x.device)


onTheHost(torch.ones(4, device="cuda:1"))
# CHECK: no findings, 1 suppressed
