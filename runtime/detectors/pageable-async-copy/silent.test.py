# RUN: echo 'device-pageable-async-copy = "*/silent.test.py"' > %t.toml
# RUN: %status 0 %sim --fail-on=warning --suppressions=%t.toml -- %python %s 2>&1 | %file_check
import torch

# Suppressed.
torch.ones(1 << 15).to("cuda:1", non_blocking=True)

# Silent.
pinned = torch.ones(4).pin_memory()
result = torch.empty(4, pin_memory=True)
model = torch.nn.Linear(4, 4).to("cuda:1", non_blocking=True)
for _ in range(3):
    torch.ones(1 << 14).to("cuda:1", non_blocking=True)  # 64 KiB: CUDA takes it along with its command
    x = pinned.to("cuda:1", non_blocking=True)
    result.copy_(model(x).detach(), non_blocking=True)
    x.to("cpu", non_blocking=True)     # into pinned memory, which PyTorch makes for it
    x.to("cuda:0", non_blocking=True)
data = torch.utils.data.TensorDataset(torch.ones(8, 4))
for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
    batch.to("cuda:1", non_blocking=True)
# CHECK: no findings, 1 suppressed
