# RUN: %status 3 %sim -- %python %s 2>&1 | %file_check
import torch

side = torch.cuda.Stream()
for _ in range(3):
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: note: written on the default stream of cuda:0 here
    batch = torch.full((1024,), 2.0, device="cuda")
    with torch.cuda.stream(side):
        # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: error: aten::sum reads on stream 3 of cuda:0 what aten::full writes on the default stream of cuda:0, and no event or wait orders them, 3 times (4.1 KB) [device-stream-race]
        total = batch.sum()
        kept = batch
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: error: aten::add reads on the default stream of cuda:0 what aten::sum writes on stream 3 of cuda:0, and no event or wait orders them, 3 times (4 B) [device-stream-race]
    total + 1
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: warning: the host waited for cuda:0 in cudaDeviceSynchronize, 3 times [device-host-sync]
    torch.cuda.synchronize()
# CHECK-DAG: 3 findings (2 errors, 1 warning, 0 notes)
