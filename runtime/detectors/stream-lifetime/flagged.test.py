# RUN: %status 3 %sim -- %python %s 2>&1 | %file_check
import torch

import devsan

side = torch.cuda.Stream()


def prefetch(batch):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        # CHECK: flagged.test.py:[[#@LINE+1]]: error: the memory that aten::mul reads on stream 3 of cuda:0 was released without record_stream and given out again on the default stream of cuda:0 while that may still run, 2 times (4.1 KB) [device-stream-lifetime]
        return batch * 2


for _ in range(2):
    half = prefetch(torch.ones(1024, device="cuda"))
    # CHECK: flagged.test.py:[[#@LINE+1]]: note: given out again on the default stream of cuda:0 here
    next_batch = torch.ones(1000, device="cuda")
    with devsan.allow_sync():
        torch.cuda.synchronize()
# CHECK: 1 finding (1 error, 0 warnings, 0 notes)
