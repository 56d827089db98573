# RUN: %status 3 %sim -- %python %s 2>&1 | %file_check
import torch

import devsan

total = torch.zeros(1024).pin_memory()
for _ in range(3):
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: note: copied from cuda:1 here
    total.copy_(torch.ones(1024, device="cuda:1"), non_blocking=True)
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: error: the host reads the result of a non_blocking copy on the default stream of cuda:1 before anything waited for it, 3 times (4.1 KB each) [device-async-copy-race]
    early = total.sum().item()
    with devsan.allow_sync():
        torch.cuda.synchronize(1)
    assert (early, total.sum().item()) == (0, 1024), early
    total.zero_()
# CHECK-DAG: flagged.test.py:[[#@LINE+1]]: error: the host reads the result of a non_blocking copy on the default stream of cuda:0 before anything waited for it, once (40 B) [device-async-copy-race]
torch.arange(10.0, device="cuda").to("cpu", non_blocking=True).tolist()
# CHECK-DAG: 2 findings (2 errors, 0 warnings, 0 notes)
