"""All optimizers that compute on the device, in every implementation: none waits in `step()` but those that read a norm."""

import torch

DEVICE = torch.device("cuda:1")
# Need a closure and read its result, or sparse gradients, or read norms and steps on the host.
READ_ON_THE_HOST = {"LBFGS", "Adafactor", "ASGD", "SparseAdam"}


def optimizers():
    for name in sorted(dir(torch.optim)):
        kind = getattr(torch.optim, name)
        if not isinstance(kind, type) or not issubclass(kind, torch.optim.Optimizer) or kind is torch.optim.Optimizer:
            continue
        for options in ({}, {"foreach": True}, {"foreach": False}, {"fused": True}, {"capturable": True}):
            model = torch.nn.Linear(4, 4, bias=name != "Muon").to(DEVICE)
            try:
                yield name, model, kind(model.parameters(), lr=0.01, **options)
            except (TypeError, RuntimeError, ValueError):
                pass  # has no such implementation


def train(model, optimizer):
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.ones(2, 4, device=DEVICE)).square().sum().backward()
        optimizer.step()


count = 0
for name, model, optimizer in optimizers():
    if name not in READ_ON_THE_HOST:
        train(model, optimizer)
        count += 1
assert count > 20, count
