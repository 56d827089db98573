# RUN: echo 'device-disallowed-transfer = ["function:logged"]' > %t.toml
# RUN: %status 0 %sim --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

import devsan


@devsan.transfer_guard("disallow_explicit")
def logged(x):
    return x.cpu()


logged(torch.ones(4, device="cuda:1"))
# CHECK: no findings, 1 suppressed
