"""torchmetrics' cumulative sum in deterministic mode. Release 1.4.0 goes over the CPU and comes back on the current GPU."""

import torch
from torchmetrics.utilities.data import _cumsum

device = torch.device("cuda:1")
torch.use_deterministic_algorithms(True)
scores = torch.rand(64, device=device)
total = _cumsum(scores)
print("input on", scores.device, "result on", total.device)
