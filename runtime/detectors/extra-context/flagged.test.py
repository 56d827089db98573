# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
import torch

model = torch.nn.Linear(4, 2).to("cuda:1")
for _ in range(3):
    model(torch.ones(3, 4, device="cuda:1"))
# CHECK: flagged.test.py:[[#@LINE+1]]: warning: the process works on cuda:1, but in cudaSetDevice it also made a context on cuda:0, which it uses for nothing [device-extra-context]
torch.cuda.synchronize()
# CHECK: 1 finding (0 errors, 1 warning, 0 notes)
