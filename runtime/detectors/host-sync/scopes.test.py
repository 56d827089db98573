# RUN: %status 3 %sim -- %python %s 2>&1 | %file_check
import torch

import devsan

x = torch.ones(4, device="cuda:1")
with devsan.expect_no_sync():
    # CHECK: scopes.test.py:[[#@LINE+1]]: error: the host waited for cuda:1 in aten::item where waiting is disallowed, once [device-host-sync]
    x.sum().item()
    with devsan.allow_sync():
        x.sum().item()
# CHECK: 1 finding (1 error, 0 warnings, 0 notes)
