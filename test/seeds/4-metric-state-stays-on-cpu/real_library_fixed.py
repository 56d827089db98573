"""The metric is moved to the device of the batches."""

import torch
from torchmetrics.regression import ConcordanceCorrCoef

device = torch.device("cuda:1")
metric = ConcordanceCorrCoef().to(device)
metric.update(torch.rand(32, device=device), torch.rand(32, device=device))
print("state on", metric.mean_x.device)
