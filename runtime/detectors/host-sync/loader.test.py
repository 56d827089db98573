# What a DataLoader makes is cured there, once; what the program makes is not its batches.
# RUN: %status 0 %sim -- %python %s 2>&1 | %file_check
# RUN: %status 0 %sim -- %python %s 2 2>&1 | %file_check
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

ROW = 1 << 14
data = TensorDataset(torch.ones(64, ROW), torch.ones(64, ROW))


def main():
    loader = DataLoader(data, batch_size=2, num_workers=int((sys.argv[1:] or [0])[0]))
    # CHECK: one change for 2 findings: make the batches in pinned memory, `DataLoader(pin_memory=True)`, and pass non_blocking=True
    for batch, target in loader:
        # CHECK-DAG: loader.test.py:[[#@LINE+1]]: warning: the host waited for cuda:0 to take 131.1 KB from pageable memory
        batch = batch.to("cuda")
        # CHECK-DAG: loader.test.py:[[#@LINE+1]]: warning: the host waited for cuda:0 to take 131.1 KB from pageable memory
        target = target.to("cuda")
    for _ in range(4):
        # CHECK-DAG: loader.test.py:[[#@LINE+2]]: warning: the host waited for cuda:0 to take 262.1 KB from pageable memory
        # CHECK-DAG: remedy: create it on the device, or copy it from pinned memory with non_blocking=True
        torch.stack([torch.ones(1 << 15), torch.ones(1 << 15)]).to("cuda")


if __name__ == "__main__":
    main()
