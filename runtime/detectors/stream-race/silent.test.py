# RUN: %status 0 %sim --fail-on=device-stream-race -- %python %s 2>&1 | FileCheck %s --implicit-check-not=device-stream
import torch

side = torch.cuda.Stream()
for _ in range(3):
    batch = torch.full((1024,), 2.0, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        total = batch.sum()
    done = side.record_event()
    batch * 2  # both read
    done.wait()
    total + 1
    batch.mul_(2)

# a prefetcher, as programs write it
host = torch.ones(1024).pin_memory()
for _ in range(3):
    with torch.cuda.stream(side):
        ahead = host.to("cuda", non_blocking=True)
    torch.cuda.current_stream().wait_stream(side)
    ahead.record_stream(torch.cuda.current_stream())
    ahead.mul_(2)

model = torch.nn.DataParallel(torch.nn.Linear(8, 8).cuda(), [0, 1])
model(torch.ones(4, 8, device="cuda")).sum().backward()
# CHECK: findings
