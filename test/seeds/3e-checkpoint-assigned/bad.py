"""Part of a checkpoint is assigned to a model that has been moved: the head keeps the device that the checkpoint has."""

import io

import torch
from torch import nn

device = torch.device("cuda:1")


def build():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


checkpoint = io.BytesIO()
torch.save(build().state_dict(), checkpoint)
checkpoint.seek(0)

model = build().to(device)
weights = torch.load(checkpoint)
head = {name: value for name, value in weights.items() if name.startswith("2.")}
model.load_state_dict(head, strict=False, assign=True)
model(torch.rand(5, 8, device=device))
