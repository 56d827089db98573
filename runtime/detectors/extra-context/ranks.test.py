# RUN: %status 0 %sim -- %python %s %t.pt 2>&1 | %file_check
# Two ranks: what names no device goes to cuda:0 on both.
import os
import sys

import torch
import torch.multiprocessing


def train(rank, checkpoint):
    device = torch.device("cuda", rank)
    model = torch.nn.Linear(4, 2).to(device)
    # CHECK: ranks.test.py:[[#@LINE+1]]: warning: the process works on cuda:1, but in {{.*}} it also made a context on cuda:0, where another process works{{.*}} [device-extra-context]
    model.load_state_dict(torch.load(checkpoint))
    for _ in range(5):
        model(torch.ones(3, 4, device=device)).sum().backward()


if __name__ == "__main__":
    state = torch.nn.Linear(4, 2).to("cuda:0").state_dict()
    torch.save(state, sys.argv[1])
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.multiprocessing.spawn(train, args=(sys.argv[1],), nprocs=2)
# CHECK: 1 finding (0 errors, 1 warning, 0 notes)
