"""Trains a CNN with BatchNorm, Dropout and Adam on the named device, and prints the losses."""

import sys

import torch
from torch import nn


def losses(device):
    torch.manual_seed(7)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU(),
        nn.Dropout(0.5), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5),
    ).to(device)
    inputs, targets = torch.randn(16, 3, 12, 12).to(device), torch.randint(5, (16,)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    values = []
    for step in range(8):
        # A device's later numbers are not those that the CPU draws later.
        torch.manual_seed(step)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        values.append(loss.detach())
    return torch.stack(values).cpu().tolist()


if __name__ == "__main__":
    print(" ".join(f"{loss:.9g}" for loss in losses(sys.argv[1])))
