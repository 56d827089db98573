"""Gloo's collectives on simulated devices, against the same on the CPU: what a CPU build of PyTorch has no code for, too."""

import ranks
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

SIZE = 2


def pairs(rank, shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(rank)
    host = torch.randint(1, 5, shape, generator=generator).to(dtype)
    return host, host.cuda()


def equal(device, host):
    assert device.is_cuda and device.device.index == dist.get_rank(), device.device
    torch.testing.assert_close(device.cpu(), host, rtol=0, atol=0)


def all_reduce(rank):
    assert dist.get_backend() == "gloo"
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8):
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX):
            host, device = pairs(rank, (4, 3), dtype)
            dist.all_reduce(host, op)
            dist.all_reduce(device, op)
            equal(device, host)


def all_reduce_later(rank):
    host, device = pairs(rank, (1000,))
    dist.all_reduce(host)
    work = dist.all_reduce(device, async_op=True)
    work.wait()
    assert work.is_completed() and work.is_success()
    equal(device, host)
    host, device = pairs(rank, (5,))
    dist.all_reduce(host)
    (result,) = dist.all_reduce(device, async_op=True).get_future().wait()
    assert result.data_ptr() == device.data_ptr()
    equal(result, host)


def sparse_all_reduce(rank):
    host, device = (x.to_sparse() for x in pairs(rank, (4,)))
    dist.all_reduce(host)
    dist.all_reduce(device)
    equal(device.to_dense(), host.to_dense())


def reduce_scatter(rank):
    for scatter in (dist.reduce_scatter_tensor, lambda to, x: dist.reduce_scatter(to, list(x.chunk(SIZE)))):
        host, device = pairs(rank, (6,))
        to_host, to_device = torch.zeros(3), torch.zeros(3, device="cuda")
        scatter(to_host, host)
        scatter(to_device, device)
        equal(to_device, to_host)


def others(rank):
    host, device = pairs(rank, (4,))
    for x in (host, device):
        dist.broadcast(x, 1)
    equal(device, host)
    lists = [[torch.zeros(4, device=name) for _ in range(SIZE)] for name in ("cpu", "cuda")]
    for to, x in zip(lists, pairs(rank, (4,))):
        dist.all_gather(to, x)
    for one, other in zip(*lists):
        equal(other, one)


def errors(rank):
    ranks.raises(RuntimeError, "Invalid scalar type", lambda: dist.all_reduce(torch.ones(3, dtype=torch.int16, device="cuda")))


def training(rank):
    losses = {}
    for name in ("cpu", "cuda"):
        torch.manual_seed(0)
        model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)).to(name))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        inputs = torch.randn(4, 8, generator=torch.Generator().manual_seed(rank)).to(name)
        for _ in range(4):
            optimizer.zero_grad()
            loss = model(inputs).pow(2).mean()
            loss.backward()
            optimizer.step()
        losses[name] = loss.item()
    assert abs(losses["cpu"] - losses["cuda"]) < 1e-6, losses


if __name__ == "__main__":
    ranks.run([all_reduce, all_reduce_later, sparse_all_reduce, reduce_scatter, others, errors, training], SIZE, backend="gloo")
