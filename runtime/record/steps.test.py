# Steps are seen from the optimizer; findings say in which they are; budgets and warm-up count them.
# RUN: %status 3 %sim --report=%t.txt --report=%t.json --max device-host-sync=1/step -- %python %s run 2>&1 | FileCheck %s --check-prefix=OVER
# RUN: %file_check < %t.txt
# RUN: %python %s check %t.json
# RUN: %status 0 %devsan report --fail-on=warning --max device-host-sync=3/step %t.json
# RUN: %status 0 %sim --warmup 10 --fail-on=device-host-sync -- %python %s run 2>&1 | FileCheck %s --check-prefix=WARM
# Without steps nothing is a warm-up.
# RUN: %status 3 %sim --warmup 10 --fail-on=device-host-sync -- %python %s without_steps 2>&1 | FileCheck %s --check-prefix=NONE
# NONE: warning: the host waited for cuda:1 in aten::nonzero, 4 times
# NONE: devsan run: note: the warm-up exempts nothing, because the program ends no step: an optimizer's step does, or devsan.step()
# RUN: %status 2 %sim --max device-host-sync=1/epoch -- %python %s run 2>&1 | FileCheck %s --check-prefix=BAD
# OVER: over budget: device-host-sync happened up to 3 times in one step, the budget is 1/step
# WARM-NOT: [device-host-sync]
# WARM-NOT: warm-up
# BAD: --max=device-host-sync=1/epoch: write RULE=N or RULE=N/step with N a number from 0
import json
import sys


def run():
    import torch

    device = torch.device("cuda:1")
    model = torch.nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = torch.ones(3, 4, device=device)
    for step in range(10):
        loss = model(batch).sum()
        if step == 0:
            # CHECK-DAG: steps.test.py:[[#@LINE+1]]: note: {{.*}} in aten::nonzero, once{{.*}}; only in the first step [device-host-sync]
            batch.nonzero()
        if step % 5 == 2:
            # CHECK-DAG: steps.test.py:[[#@LINE+1]]: note: {{.*}} in aten::item, 2 times{{.*}}; in 2 of 10 steps [device-host-sync]
            loss.item()
        for _ in range(2):
            # CHECK-DAG: steps.test.py:[[#@LINE+1]]: warning: {{.*}} in aten::nonzero, 20 times{{.*}}; in every step [device-host-sync]
            batch.nonzero()
        loss.backward()
        optimizer.step()
    # CHECK-DAG: steps.test.py:[[#@LINE+1]]: note: {{.*}} in aten::item, once{{.*}}; after the last step [device-host-sync]
    loss.item()


def without_steps():
    import torch

    batch = torch.ones(3, 4, device="cuda:1")
    for _ in range(4):
        batch.nonzero()


def check(path):
    steps = [(finding["steps"]["seen"], finding["steps"]["first"], finding["steps"]["last"], finding["steps"]["most"])
             for finding in json.load(open(path))["findings"] if finding["rule"] == "device-host-sync"]
    assert sorted(steps) == [(0, 10, 10, 1), (1, 0, 0, 1), (2, 2, 7, 1), (10, 0, 9, 2)], steps


if sys.argv[1] == "check":
    check(sys.argv[2])
else:
    globals()[sys.argv[1]]()
