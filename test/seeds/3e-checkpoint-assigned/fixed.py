"""Part of a checkpoint is loaded onto the model's device before it is assigned."""

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
weights = torch.load(checkpoint, map_location=device)
head = {name: value for name, value in weights.items() if name.startswith("2.")}
model.load_state_dict(head, strict=False, assign=True)
scores = model(torch.rand(5, 8, device=device))
print("scores on", scores.device)
