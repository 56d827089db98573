"""Data-parallel, sharded and tensor-parallel training with the nccl back end on two simulated devices, against one CPU process."""

import copy
import os
import subprocess
import sys
import tempfile

import ranks
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

SIZE = 2
STEPS = 3
BATCH = 4


class Branches(torch.nn.Module):
    """Half of it is unused where the input's first value is negative."""

    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Linear(6, 4), torch.nn.Linear(6, 4)

    def forward(self, x):
        return self.left(x) if x[0, 0] > 0 else self.left(x) + self.right(x)


def make_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))


def batches(rank):
    generator = torch.Generator().manual_seed(rank)
    return [torch.randn(BATCH, 6, generator=generator) for _ in range(STEPS)]


def train_on_cpu(model, optimizer=torch.optim.SGD, **options):
    """What all ranks together must reach: the batches of all ranks, the mean of their losses."""
    optimizer = optimizer(model.parameters(), lr=0.1, **options)
    for parts in zip(*(batches(rank) for rank in range(SIZE))):
        optimizer.zero_grad()
        (sum(model(part).square().mean() for part in parts) / SIZE).backward()
        optimizer.step()
    return model


def train(model, rank, optimizer=torch.optim.SGD, **options):
    optimizer = optimizer(model.parameters(), lr=0.1, **options)
    for part in batches(rank):
        optimizer.zero_grad()
        model(part.cuda()).square().mean().backward()
        optimizer.step()
    return model


def same_parameters(model, reference, **tolerance):
    for (name, ours), theirs in zip(model.named_parameters(), reference.parameters()):
        full = ours.full_tensor() if hasattr(ours, "full_tensor") else ours
        assert full.device.type == "cuda", name
        torch.testing.assert_close(full.detach().cpu(), theirs.detach(), **tolerance)


def ddp(rank):
    reference = train_on_cpu(make_model())
    for options in (
        {},
        {"gradient_as_bucket_view": True},
        {"static_graph": True},
        {"find_unused_parameters": True},
        {"bucket_cap_mb": 1e-4},
    ):
        model = DistributedDataParallel(make_model().cuda(), device_ids=[rank], **options)
        same_parameters(train(model, rank), reference)
    logged = model._get_ddp_logging_data()
    assert logged["backend_name"] == "nccl" and logged["avg_forward_compute_time"] > 0, logged


def ddp_unused_parameters(rank):
    torch.manual_seed(0)
    model = Branches()
    parallel = DistributedDataParallel(copy.deepcopy(model).cuda(), device_ids=[rank], find_unused_parameters=True)
    same_parameters(train(parallel, rank), train_on_cpu(model))


def ddp_starts_from_rank_zero(rank):
    torch.manual_seed(rank)
    module = torch.nn.BatchNorm1d(6)
    torch.nn.init.normal_(module.weight)
    module.running_mean.fill_(rank + 1.0)
    parallel = DistributedDataParallel(module.cuda(), device_ids=[rank])
    weights = [torch.empty(6, device="cuda") for _ in range(SIZE)]
    dist.all_gather(weights, module.weight.detach())
    torch.testing.assert_close(weights[0], weights[1])
    module.running_mean.fill_(rank + 5.0)
    parallel(torch.randn(3, 6, device="cuda"))
    module.eval()
    means = [torch.empty(6, device="cuda") for _ in range(SIZE)]
    dist.all_gather(means, module.running_mean)
    assert (means[0] - 4.5).abs().max() < 1, "buffers come from rank 0 at each forward"


def ddp_sync_batch_norm(rank):
    """The statistics are those of all ranks' batches together."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
    reference = copy.deepcopy(module)
    synchronised = torch.nn.SyncBatchNorm.convert_sync_batchnorm(module).cuda()
    parallel = DistributedDataParallel(synchronised, device_ids=[rank])
    parallel(batches(rank)[0].cuda()).square().mean().backward()
    reference(torch.cat([batches(r)[0] for r in range(SIZE)])).square().mean().backward()
    torch.testing.assert_close(synchronised[1].running_var.cpu(), reference[1].running_var)
    for ours, theirs in zip(synchronised.parameters(), reference.parameters()):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-5)


def ddp_no_sync(rank):
    model = DistributedDataParallel(make_model().cuda(), device_ids=[rank])
    first, second, _ = batches(rank)
    with model.no_sync():
        model(first.cuda()).sum().backward()
    own = model.module[0].weight.grad.clone()
    model(second.cuda()).sum().backward()
    reference = make_model()
    for r in range(SIZE):
        for part in batches(r)[:2]:
            (reference(part).sum() / SIZE).backward()
    torch.testing.assert_close(model.module[0].weight.grad.cpu(), reference[0].weight.grad)
    assert not torch.equal(own, model.module[0].weight.grad)


def ddp_uneven_inputs(rank):
    model = DistributedDataParallel(make_model().cuda(), device_ids=[rank])
    with model.join():
        for part in batches(rank)[: 1 + rank]:
            model(part.cuda()).sum().backward()


def ddp_comm_hooks(rank):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    reference = train_on_cpu(make_model())
    model = DistributedDataParallel(make_model().cuda(), device_ids=[rank])
    model.register_comm_hook(None, default_hooks.allreduce_hook)
    same_parameters(train(model, rank), reference)
    for compress in (default_hooks.fp16_compress_hook, default_hooks.bf16_compress_hook):
        model = DistributedDataParallel(make_model().cuda(), device_ids=[rank])
        model.register_comm_hook(None, compress)
        same_parameters(train(model, rank), reference, rtol=2e-2, atol=2e-3)
    model = DistributedDataParallel(make_model().cuda(), device_ids=[rank])
    model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS)
    same_parameters(train(model, rank), reference, rtol=1e-2, atol=1e-3)
    model = DistributedDataParallel(make_model().cuda(), device_ids=[rank])
    model.register_comm_hook(
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=1), powerSGD_hook.powerSGD_hook
    )
    train(model, rank)
    weights = [torch.empty(16, 6, device="cuda") for _ in range(SIZE)]
    dist.all_gather(weights, model.module[0].weight.detach())
    torch.testing.assert_close(weights[0], weights[1])


def futures_of_python_state(rank):
    """Gloo's threads drop what Python's hooks left in a work, for which they need the GIL that get_future() came with."""
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor):
        for _ in range(300):
            value = torch.ones(1, device="cuda")
            dist.all_reduce(value, async_op=True).get_future().wait()
            assert value.item() == SIZE


def zero_redundancy(rank):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = DistributedDataParallel(make_model().cuda(), device_ids=[rank])
    train(model, rank, ZeroRedundancyOptimizer, optimizer_class=torch.optim.Adam)
    same_parameters(model, train_on_cpu(make_model(), torch.optim.Adam))


def shard(model, **options):
    from torch.distributed.fsdp import fully_shard

    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, **options)
    return fully_shard(model, **options)


def fsdp2(rank):
    reference = train_on_cpu(make_model(), torch.optim.AdamW)
    model = shard(make_model().cuda())
    assert model[0].weight.to_local().shape == (8, 6)
    same_parameters(train(model, rank, torch.optim.AdamW), reference)


def fsdp2_mixed_precision(rank):
    from torch.distributed.fsdp import MixedPrecisionPolicy

    reference = train_on_cpu(make_model())
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = shard(make_model().cuda(), mp_policy=policy)
    train(model, rank)
    assert model[0].weight.dtype == torch.float32
    same_parameters(model, reference, rtol=5e-2, atol=5e-3)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)


def fsdp1(rank):
    from torch.distributed.fsdp import FullyShardedDataParallel

    reference = train_on_cpu(make_model())
    model = FullyShardedDataParallel(make_model().cuda(), device_id=rank, use_orig_params=True)
    train(model, rank)
    with FullyShardedDataParallel.summon_full_params(model):
        same_parameters(model, reference)


def tensor_parallel(rank):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cuda", (SIZE,))
    sharded = distribute_tensor(torch.arange(8.0, device="cuda"), mesh, [Shard(0)])
    assert sharded.to_local().shape == (4,) and sharded.to_local().device.index == rank
    torch.testing.assert_close((sharded * 2).redistribute(mesh, [Replicate()]).to_local().cpu(), torch.arange(8.0) * 2)
    reference = make_model()
    model = parallelize_module(make_model().cuda(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    assert isinstance(model[0].weight, DTensor)
    batch = batches(0)[0]
    reference(batch).sum().backward()
    model(batch.cuda()).sum().backward()
    for ours, theirs in zip(model.parameters(), reference.parameters()):
        torch.testing.assert_close(ours.grad.full_tensor().cpu(), theirs.grad)


def checkpoint(rank):
    import torch.distributed.checkpoint as checkpoints
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    model = shard(make_model().cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(batches(rank)[0].cuda()).sum().backward()
    optimizer.step()
    trained = [parameter.full_tensor().clone() for parameter in model.parameters()]
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder)
    model_state, optimizer_state = get_state_dict(model, optimizer)
    checkpoints.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=folder[0])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    model_state, optimizer_state = get_state_dict(model, optimizer)
    checkpoints.load({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=folder[0])
    set_state_dict(model, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)
    for parameter, expected in zip(model.parameters(), trained):
        torch.testing.assert_close(parameter.full_tensor(), expected)
    dist.barrier(device_ids=[rank])
    if rank == 0:
        for name in os.listdir(folder[0]):
            os.unlink(os.path.join(folder[0], name))
        os.rmdir(folder[0])


def under_torchrun():
    """The usual program: devices by LOCAL_RANK, the back end chosen by PyTorch."""
    rank = int(os.environ["LOCAL_RANK"])
    torch.accelerator.set_device_index(rank)
    dist.init_process_group()
    assert isinstance(dist.group.WORLD._get_backend(torch.device("cuda")), dist.ProcessGroupNCCL)
    model = DistributedDataParallel(make_model().to(torch.accelerator.current_accelerator()), device_ids=[rank])
    same_parameters(train(model, rank), train_on_cpu(make_model()))
    dist.barrier()
    print(f"rank {dist.get_rank()} of {dist.get_world_size()} on cuda:{torch.cuda.current_device()}")
    dist.destroy_process_group()


def torchrun():
    finished = subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={SIZE}",
            os.path.abspath(__file__), "under_torchrun",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    for rank in range(SIZE):
        assert f"rank {rank} of {SIZE} on cuda:{rank}" in finished.stdout, finished.stdout + finished.stderr
    print("torchrun: ok")


if __name__ == "__main__":
    if sys.argv[1:] == ["under_torchrun"]:
        under_torchrun()
    else:
        torchrun()
        ranks.run(
            [
                ddp,
                ddp_unused_parameters,
                ddp_starts_from_rank_zero,
                ddp_sync_batch_norm,
                ddp_no_sync,
                ddp_uneven_inputs,
                ddp_comm_hooks,
                futures_of_python_state,
                zero_redundancy,
                fsdp2,
                fsdp2_mixed_precision,
                fsdp1,
                tensor_parallel,
                checkpoint,
            ],
            SIZE,
            backend="nccl",
            bind=True,
        )
