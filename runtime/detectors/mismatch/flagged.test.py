# RUN: %status 3 %sim -- %python %s 2>&1 | %file_check
import torch


def makeBatch():
    return torch.ones(4)


class Trainer:
    def step(self, batch):
        try:
            # CHECK-DAG: flagged.test.py:[[#@LINE+2]]: error: aten::add got other: float32 [4] on cpu, the others on cuda:1, and refused 3 times [device-mismatch]
            # CHECK-DAG: flagged.test.py:[[#@LINE-7]]: note: made on cpu here
            return torch.ones(4, device="cuda:1") + batch
        except RuntimeError:
            pass


for _ in range(3):
    # CHECK-DAG: flagged.test.py:[[#@LINE+1]]: note: called from <module>
    Trainer().step(makeBatch())
# CHECK: 1 finding (1 error, 0 warnings, 0 notes)
