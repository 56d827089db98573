"""A metric is made, the batches are on a GPU, and nobody moved the metric."""

import torch
from torchmetrics.regression import ConcordanceCorrCoef

device = torch.device("cuda:1")
metric = ConcordanceCorrCoef()
metric.update(torch.rand(32, device=device), torch.rand(32, device=device))
