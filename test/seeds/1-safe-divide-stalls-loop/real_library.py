"""A loop that divides safely on every step, as every accuracy does. Release 1.4.0 copies a host scalar each time."""

import torch
from torchmetrics.utilities.compute import _safe_divide

device = torch.device("cuda:1")
hits = torch.zeros(10, device=device)
seen = torch.zeros(10, device=device)
for _ in range(20):
    hits += 1
    seen += 2
    accuracy = _safe_divide(hits, seen)
print("accuracy on", accuracy.device)
