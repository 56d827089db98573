# RUN: %sim -- %python %s 2>&1 | %file_check
# A blocking copy waits whatever memory it comes from, and the remedy differs.
import torch

pinned, pageable = torch.ones(4).pin_memory(), torch.ones(4)
for _ in range(3):
    # CHECK-DAG: pinned.test.py:[[#@LINE+1]]: warning: the host waited for cuda:0 to take 16 B from pinned memory in aten::to, 3 times (48 B cpu → cuda:0) [device-host-sync]
    pinned.to("cuda")
    # CHECK-DAG: pinned.test.py:[[#@LINE+1]]: warning: the host waited for cuda:0 to take 16 B from pageable memory in aten::to, 3 times (48 B cpu → cuda:0) [device-host-sync]
    pageable.to("cuda")
    for source in (pinned, pageable):
        # CHECK-DAG: pinned.test.py:[[#@LINE+1]]: warning: the host waited for cuda:0 to take 16 B from pinned and pageable memory in aten::to, 6 times (96 B cpu → cuda:0) [device-host-sync]
        source.to("cuda")
    # No wait.
    pinned.to("cuda", non_blocking=True)
# CHECK-DAG: remedy: it is pinned already: add non_blocking=True
# CHECK-DAG: 3 findings (0 errors, 3 warnings, 0 notes)
