"""Two Gloo ranks with batches of different length gather inside a training step. In release 1.4.0 the loss has no graph
left to the rank's own batch."""

import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torchmetrics.utilities.distributed import gather_all_tensors


def train(rank, store, report):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(rank)
    weight = torch.ones(4, requires_grad=True)
    batch = torch.rand(3 + rank, 4)
    scores = (batch * weight).sum(dim=1)
    everyone = torch.cat(gather_all_tensors(scores))
    has_graph = everyone.mean().requires_grad
    with open(f"{report}.{rank}", "w") as file:
        file.write(f"rank {rank}: {everyone.numel()} scores, gradient {'kept' if has_graph else 'lost'}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        mp.spawn(train, args=(os.path.join(folder, "store"), report), nprocs=2)
        for rank in range(2):
            sys.stdout.write(open(f"{report}.{rank}").read())
