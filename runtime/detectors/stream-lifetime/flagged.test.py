# RUN: %status 3 %sim -- %python %s 2>&1 | %file_check
import torch

side = torch.cuda.Stream()


def prefetch(batch):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        # CHECK: flagged.test.py:[[#@LINE+1]]: error: the memory that aten::mul reads on stream 3 of cuda:0 was released without record_stream, and the default stream of cuda:0 may get it while that still runs, 2 times (4.1 KB) [device-stream-lifetime]
        return batch * 2


for _ in range(2):
    half = prefetch(torch.ones(1024, device="cuda"))
    # CHECK: flagged.test.py:[[#@LINE+1]]: note: may be given out again on the default stream of cuda:0 here
    next_batch = torch.ones(1000, device="cuda")
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: warning: the host waited for cuda:0 in cudaDeviceSynchronize, 2 times [device-host-sync]
    torch.cuda.synchronize()
# CHECK: 2 findings (1 error, 1 warning, 0 notes)
