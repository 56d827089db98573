# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
import torch


def load():
    return torch.ones(1 << 15)


results = torch.empty(1 << 15)
for _ in range(3):
    # CHECK-DAG: flagged.test.py:[[#@LINE+2]]: warning: non_blocking=True from pageable memory: the host waited for cuda:1 to take 131.1 KB in aten::to, 3 times (393.2 KB) [device-pageable-async-copy]
    # CHECK-DAG: flagged.test.py:[[#@LINE-6]]: note: in pageable memory since here
    x = load().to("cuda:1", non_blocking=True)
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: warning: non_blocking=True into pageable memory: the host waited for cuda:1 to give 131.1 KB in aten::copy_, 3 times (393.2 KB) [device-pageable-async-copy]
    results.copy_(x * 2, non_blocking=True)
# CHECK: 2 findings (0 errors, 2 warnings, 0 notes)
