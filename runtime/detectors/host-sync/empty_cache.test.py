# To give cached memory back is to free it, which waits for the device.
# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
import torch

for _ in range(3):
    step = torch.ones(1 << 20, device="cuda:1")
    del step
    # CHECK: empty_cache.test.py:[[#@LINE+1]]: warning: the host waited for cuda:1 in cudaFree, 3 times [device-host-sync]
    torch.cuda.empty_cache()
# CHECK: remedy: it gives cached memory back by cudaFree, which waits for the device
torch.cuda.empty_cache()

# Once, it is spelled out as synchronize() is; a capture calls both.
last = torch.ones(1 << 20, device="cuda:1")
del last
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    torch.ones(1, device="cuda:0")
# CHECK: 1 finding (0 errors, 1 warning, 0 notes)
