"""DistributedDataParallel on two ranks: samplers, accumulation, metrics gathered without a graph, a shared checkpoint."""

import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def train(rank, store):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10)).cuda()
    parallel = nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(parallel.parameters())
    data = torch.utils.data.TensorDataset(torch.randn(32, 3, 8, 8), torch.randint(0, 10, (32,)))
    sampler = torch.utils.data.DistributedSampler(data)
    loader = torch.utils.data.DataLoader(data, batch_size=4, sampler=sampler, pin_memory=True)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for i, (images, labels) in enumerate(loader):
            images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
            with parallel.no_sync() if i % 2 else torch.enable_grad():
                loss = nn.functional.cross_entropy(parallel(images), labels)
                loss.backward()
            if i % 2 == 0:
                optimizer.step()
                optimizer.zero_grad()
        total = loss.detach().clone()
        dist.all_reduce(total)
        parts = [torch.empty_like(total) for _ in range(2)]
        dist.all_gather(parts, loss.detach())
        torch.stack(parts).mean()
    if rank == 0:
        torch.save(model.state_dict(), store + ".pt")
    dist.barrier(device_ids=[rank])
    model.load_state_dict(torch.load(store + ".pt", map_location=f"cuda:{rank}"))
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(os.path.join(folder, "store"),), nprocs=2)
