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

# the example of PyTorch's documentation of CUDA graphs, and graphed modules
static_input = torch.ones(5, device="cuda")
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        static_output = static_input * 2
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    static_output = static_input * 2
static_input.copy_(torch.full((5,), 3, device="cuda"))
graph.replay()
assert (static_output + 1).tolist() == [7] * 5

linear = torch.nn.Linear(4, 4).cuda()
graphed = torch.cuda.make_graphed_callables(linear, (torch.randn(2, 4, device="cuda"),))
optimizer = torch.optim.SGD(linear.parameters(), lr=0.1)
for _ in range(2):
    graphed(torch.randn(2, 4, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
# CHECK: findings
