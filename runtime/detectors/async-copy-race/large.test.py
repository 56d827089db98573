# Of a large tensor any thread of a parallel loop may come first: one finding all the same, in this file.
# RUN: %status 3 env OMP_NUM_THREADS=2 %sim -- %python %s 2>&1 | %file_check
import torch

import devsan

for _ in range(6):
    # CHECK-DAG: large.test.py:[[#@LINE+1]]: error: the host reads the result of a non_blocking copy on the default stream of cuda:0 before anything waited for it, 6 times (16.0 MB each) [device-async-copy-race]
    torch.ones(4000000, device="cuda").to("cpu", non_blocking=True).sum()
    with devsan.allow_sync():
        torch.cuda.synchronize()
# The copy's own threads are no host code.
side, x = torch.cuda.Stream(), torch.ones(4 << 20, device="cuda")
with devsan.allow_sync():
    torch.cuda.synchronize()
with torch.cuda.stream(side):
    moved = x.to("cpu", non_blocking=True)
# CHECK-DAG: large.test.py:[[#@LINE+1]]: warning: data of cuda:0 went to the host, and 16.8 MB of it, or made from it, came back to cuda:0 {{.*}} [device-cpu-round-trip]
torch.zeros(4 << 20, device="cuda").copy_(moved)
# CHECK-DAG: 2 findings (1 error, 1 warning, 0 notes)
