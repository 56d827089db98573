# What ends a step: one of several optimizers, an update that the scaler leaves out, and what the program says.
# Each in a process of its own, for which one has imported torch, and what optimizers import at their first step.
# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
import os

import torch
import torch._dynamo

import devsan

device = torch.device("cuda:1")


def optimizer(kind=torch.optim.SGD):
    model = torch.nn.Linear(4, 2).to(device)
    model(batch).sum().backward()
    return kind(model.parameters(), lr=0.1)


def gan():
    generator, discriminator = optimizer(), optimizer(torch.optim.Adam)
    for _ in range(6):
        # CHECK-DAG: steps_kinds.test.py:[[#@LINE+1]]: warning: {{.*}} in aten::nonzero, 6 times; in every step, in a worker process [device-host-sync]
        batch.nonzero()
        discriminator.step()
        generator.step()


def critic():
    """The generator steps first and less often."""
    generator, discriminator = optimizer(), optimizer()
    for step in range(6):
        # CHECK-DAG: steps_kinds.test.py:[[#@LINE+1]]: warning: {{.*}} in aten::nonzero, 6 times; in every step, in a worker process [device-host-sync]
        batch.nonzero()
        if step % 3 == 0:
            generator.step()
        discriminator.step()


def scaler():
    scales, one = torch.amp.GradScaler("cuda"), optimizer()
    for step in range(6):
        # CHECK-DAG: steps_kinds.test.py:[[#@LINE+1]]: warning: {{.*}} in aten::nonzero, 6 times; in every step, in a worker process [device-host-sync]
        batch.nonzero()
        with devsan.allow_sync(), devsan.allow_transfer():
            loss = scales.scale((next(iter(one.param_groups[0]["params"])) * (float("inf") if step == 2 else 1)).sum())
            loss.backward()
            scales.step(one)
            scales.update()
            one.zero_grad()


def said():
    """Two batches in a step, and an optimizer for each."""
    first, second = optimizer(), optimizer()
    for _ in range(6):
        # CHECK-DAG: steps_kinds.test.py:[[#@LINE+1]]: warning: {{.*}} in aten::nonzero, 6 times; in every step, in a worker process [device-host-sync]
        batch.nonzero()
        first.step()
        first.step()
        second.step()
        devsan.step()


def replaced():
    one = optimizer()
    for step in range(6):
        if step == 3:
            one = optimizer()
        # CHECK-DAG: steps_kinds.test.py:[[#@LINE+1]]: warning: {{.*}} in aten::nonzero, 6 times; in every step, in a worker process [device-host-sync]
        batch.nonzero()
        one.step()


for kind in (gan, critic, scaler, said, replaced):
    if (process := os.fork()) == 0:
        batch = torch.ones(3, 4, device=device)
        kind()
        raise SystemExit
    assert os.waitpid(process, 0)[1] == 0, kind
# CHECK-DAG: 5 findings
