"""Every collective of the nccl back end on three simulated devices, against Gloo's result on the CPU; and NCCL's errors."""

import datetime
import time
import warnings

import ranks
import torch
import torch.distributed as dist

SIZE = 3
TYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int8,
    torch.uint8,
    torch.int32,
    torch.int64,
)


def values(rank, shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(100 + rank)
    return torch.randint(1, 5, shape, generator=generator).to(dtype)


def equal(device_tensor, host_tensor):
    assert device_tensor.is_cuda and device_tensor.device.index == torch.cuda.current_device(), device_tensor.device
    torch.testing.assert_close(device_tensor.cpu(), host_tensor, rtol=0, atol=0)


def availability(rank):
    assert dist.is_nccl_available() and dist.is_backend_available("nccl")
    assert torch.cuda.nccl.version() >= (2, 10)
    backend = dist.group.WORLD._get_backend(torch.device("cuda"))
    assert isinstance(backend, dist.ProcessGroupNCCL) and backend.name() == "nccl"
    host = dist.group.WORLD._get_backend(torch.device("cpu"))
    assert not isinstance(host, dist.ProcessGroupNCCL) and not hasattr(host, "comm_split_count")
    assert dist.distributed_c10d._get_process_group_uid(dist.group.WORLD) == backend.uid
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=25))
    assert backend.options._timeout == datetime.timedelta(seconds=25)
    options = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
    options.config.min_ctas = 2
    group = dist.new_group(pg_options=options, backend="nccl")
    assert group._get_backend(torch.device("cuda")).options.config.min_ctas == 2


def all_reduce(rank):
    for dtype in TYPES:
        for op in (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.MAX):
            host = values(rank, (4, 3), dtype)
            device = host.cuda()
            dist.all_reduce(host, op)
            dist.all_reduce(device, op)
            equal(device, host)


def all_reduce_average(rank):
    for dtype in (torch.float32, torch.int64):
        host = values(rank, (5,), dtype)
        device = host.cuda()
        dist.all_reduce(device, dist.ReduceOp.AVG)
        dist.all_reduce(host)
        expected = host / SIZE if dtype.is_floating_point else host.div(SIZE, rounding_mode="trunc")
        torch.testing.assert_close(device.cpu(), expected)
    scaled = values(rank, (5,)).cuda()
    expected = values(rank, (5,)) * 0.5
    dist.all_reduce(expected)
    dist.all_reduce(scaled, dist._make_nccl_premul_sum(0.5))
    equal(scaled, expected)
    scaled = values(rank, (5,)).cuda()
    dist.all_reduce(scaled, dist._make_nccl_premul_sum(torch.full((1,), 0.5, device="cuda")))
    equal(scaled, expected)


def all_reduce_bool_and_complex(rank):
    flags = torch.tensor([rank == 0, False, True], device="cuda")
    dist.all_reduce(flags)
    equal(flags, torch.tensor([True, False, True]))
    number = torch.full((2,), complex(1, rank), device="cuda")
    dist.all_reduce(number)
    equal(number, torch.full((2,), complex(3, 3)))


def channels_last(rank):
    host = values(rank, (2, 3, 4, 4)).to(memory_format=torch.channels_last)
    device = host.cuda()
    assert device.is_contiguous(memory_format=torch.channels_last)
    dist.all_reduce(device)
    host = host.contiguous()
    dist.all_reduce(host)
    equal(device.contiguous(), host)


def broadcast_and_reduce(rank):
    for root in range(SIZE):
        for dtype in (*TYPES, torch.bool):
            host = values(rank, (3, 2), dtype)
            device = host.cuda()
            dist.broadcast(host, root)
            dist.broadcast(device, root)
            equal(device, host)
        host = values(rank, (6,))
        device = host.cuda()
        before = device.cpu()
        dist.reduce(host, root)
        dist.reduce(device, root)
        equal(device, host if rank == root else before)


def gathers(rank):
    host, device = values(rank, (2, 3)), values(rank, (2, 3)).cuda()
    on_host = [torch.empty(2, 3) for _ in range(SIZE)]
    on_device = [torch.empty(2, 3, device="cuda") for _ in range(SIZE)]
    dist.all_gather(on_host, host)
    dist.all_gather(on_device, device)
    for ours, theirs in zip(on_device, on_host):
        equal(ours, theirs)
    whole = torch.empty(2 * SIZE, 3, device="cuda")
    dist.all_gather_into_tensor(whole, device)
    equal(whole, torch.cat(on_host))
    in_place = torch.zeros(2 * SIZE, 3, device="cuda")
    in_place[2 * rank : 2 * rank + 2] = device
    dist.all_gather_into_tensor(in_place, in_place[2 * rank : 2 * rank + 2])
    equal(in_place, torch.cat(on_host))
    uneven = [torch.empty(r + 1, device="cuda") for r in range(SIZE)]
    dist.all_gather(uneven, torch.full((rank + 1,), float(rank), device="cuda"))
    for r, part in enumerate(uneven):
        equal(part, torch.full((r + 1,), float(r)))
    for root in range(SIZE):
        parts = [torch.empty(2, 3, device="cuda") for _ in range(SIZE)] if rank == root else None
        dist.gather(device, parts, root)
        if rank == root:
            for ours, theirs in zip(parts, on_host):
                equal(ours, theirs)
        received = torch.empty(2, 3, device="cuda")
        sent = [part.cuda() * (root + 1) for part in on_host] if rank == root else None
        dist.scatter(received, sent, root)
        equal(received, host * (root + 1))


def reduce_scatters(rank):
    host = values(rank, (SIZE * 2, 3))
    device = host.cuda()
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX):
        expected = host.clone()
        dist.all_reduce(expected, op)
        part = torch.empty(2, 3, device="cuda")
        dist.reduce_scatter_tensor(part, device, op)
        equal(part, expected[2 * rank : 2 * rank + 2])
        part = torch.empty(2, 3, device="cuda")
        dist.reduce_scatter(part, list(device.chunk(SIZE)), op)
        equal(part, expected[2 * rank : 2 * rank + 2])
    uneven = [torch.full((r + 1,), float(rank), device="cuda") for r in range(SIZE)]
    part = torch.empty(rank + 1, device="cuda")
    dist.reduce_scatter(part, uneven)
    equal(part, torch.full((rank + 1,), float(sum(range(SIZE)))))


def all_to_alls(rank):
    host = values(rank, (SIZE * 2, 3))
    received, expected = torch.empty(SIZE * 2, 3, device="cuda"), torch.empty(SIZE * 2, 3)
    dist.all_to_all_single(received, host.cuda())
    dist.all_to_all_single(expected, host)
    equal(received, expected)
    sent_rows = [(rank + r) % 2 + 1 for r in range(SIZE)]
    received_rows = [(rank + r) % 2 + 1 for r in range(SIZE)]
    host = values(rank, (sum(sent_rows), 2))
    received = torch.empty(sum(received_rows), 2, device="cuda")
    expected = torch.empty(sum(received_rows), 2)
    dist.all_to_all_single(received, host.cuda(), received_rows, sent_rows)
    dist.all_to_all_single(expected, host, received_rows, sent_rows)
    equal(received, expected)
    outputs = [torch.empty(r + 1 + rank, device="cuda") for r in range(SIZE)]
    dist.all_to_all(outputs, [torch.full((r + 1 + rank,), float(10 * rank + r), device="cuda") for r in range(SIZE)])
    for r, output in enumerate(outputs):
        equal(output, torch.full((r + 1 + rank,), float(10 * r + rank)))


def point_to_point(rank):
    following, previous = (rank + 1) % SIZE, (rank - 1) % SIZE
    if rank == 0:
        dist.send(values(0, (4,)).cuda(), 1, tag=7)
    elif rank == 1:
        received = torch.empty(4, device="cuda")
        dist.recv(received, 0, tag=7)
        equal(received, values(0, (4,)))
    received = torch.empty(4, device="cuda")
    works = [dist.isend(values(rank, (4,)).cuda(), following), dist.irecv(received, previous)]
    for work in works:
        work.wait()
    equal(received, values(previous, (4,)))
    first, second = torch.empty(2, device="cuda"), torch.empty(2, device="cuda")
    operations = [
        dist.P2POp(dist.irecv, first, previous),
        dist.P2POp(dist.irecv, second, previous),
        dist.P2POp(dist.isend, torch.full((2,), float(rank), device="cuda"), following),
        dist.P2POp(dist.isend, torch.full((2,), rank + 0.5, device="cuda"), following),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    sends = [dist.isend(torch.ones(1, device="cuda"), following) for _ in range(3)]
    for _ in sends:
        dist.recv(torch.empty(1, device="cuda"), previous)
    del sends  # never waited for
    equal(first, torch.full((2,), float(previous)))
    equal(second, torch.full((2,), previous + 0.5))


def exchanges_keep_no_memory(rank):
    following, previous = (rank + 1) % SIZE, (rank - 1) % SIZE

    def exchange(waits):
        sent, received = torch.ones(1 << 18, device="cuda"), torch.empty(1 << 18, device="cuda")
        operations = [dist.P2POp(dist.isend, sent, following), dist.P2POp(dist.irecv, received, previous)]
        works = dist.batch_isend_irecv(operations)
        assert not waits or all(work.wait() for work in works)

    exchange(waits=True)
    torch.cuda.synchronize()  # sends that nobody has waited for
    before = torch.cuda.memory_allocated()
    for _ in range(5):
        exchange(waits=True)
    assert torch.cuda.memory_allocated() == before, (before, torch.cuda.memory_allocated())
    exchange(waits=False)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before, (before, torch.cuda.memory_allocated())


def objects(rank):
    gathered = [None] * SIZE
    dist.all_gather_object(gathered, {"rank": rank})
    assert gathered == [{"rank": r} for r in range(SIZE)]
    shared = [f"from {rank}", rank]
    dist.broadcast_object_list(shared, src=1)
    assert shared == ["from 1", 1]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(SIZE)] if rank == 0 else None, src=0)
    assert mine == [f"for {rank}"]


def results_arrive_when_waited_for(rank):
    one = torch.ones(3, device="cuda")
    work = dist.all_reduce(one, async_op=True)
    equal(one, torch.ones(3))
    work.wait()
    equal(one, torch.full((3,), float(SIZE)))
    assert work.is_completed() and work.is_success()
    # A device synchronisation waits for it, too.
    two = torch.ones(3, device="cuda")
    work = dist.all_reduce(two, async_op=True)
    torch.cuda.synchronize()
    equal(two, torch.full((3,), float(SIZE)))
    # Collectives of one group finish in order.
    three, four = torch.ones(1, device="cuda"), torch.ones(1, device="cuda")
    dist.all_reduce(three, async_op=True)
    dist.all_reduce(four, async_op=True).wait()
    equal(three, torch.full((1,), float(SIZE)))
    # What is polled for arrives.
    five = torch.ones(1, device="cuda")
    work = dist.all_reduce(five, async_op=True)
    deadline = time.monotonic() + 20
    while not work.is_completed():
        assert time.monotonic() < deadline
    equal(five, torch.full((1,), float(SIZE)))
    six = torch.ones(1, device="cuda")
    future = dist.all_reduce(six, async_op=True).get_future().then(lambda done: done.value()[0] + 1)
    equal(future.wait(), torch.full((1,), float(SIZE + 1)))


def coalesced(rank):
    group = dist.group.WORLD
    tensors = [torch.full((n,), float(rank), device="cuda") for n in (1, 2, 3)]
    with dist.distributed_c10d._coalescing_manager(group, async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    manager.wait()
    for tensor in tensors:
        equal(tensor, torch.full_like(tensor, 3.0, device="cpu"))
    gathered = [torch.empty(SIZE * n, device="cuda") for n in (1, 2)]
    with dist.distributed_c10d._coalescing_manager(group):
        for n, output in zip((1, 2), gathered):
            dist.all_gather_into_tensor(output, torch.full((n,), float(rank), device="cuda"))
    equal(gathered[1], torch.tensor([0.0, 0, 1, 1, 2, 2]))
    with dist.distributed_c10d._coalescing_manager(group, device=torch.device("cuda"), async_ops=True) as manager:
        for tensor in tensors:
            dist.broadcast(tensor, 0)
    manager.wait()


def groups(rank):
    pair = dist.new_group([0, 2])
    if rank != 1:
        tensor = torch.full((2,), float(rank), device="cuda")
        dist.all_reduce(tensor, group=pair)
        equal(tensor, torch.full((2,), 2.0))
    dist.barrier(device_ids=[rank])
    work = dist.barrier(async_op=True)
    work.wait()
    mesh = dist.device_mesh.init_device_mesh("cuda", (SIZE,))
    tensor = torch.ones(1, device="cuda")
    dist.all_reduce(tensor, group=mesh.get_group())
    equal(tensor, torch.full((1,), float(SIZE)))


def functional(rank):
    import torch.distributed._functional_collectives as collectives
    import torch.distributed.nn.functional as with_grad

    everybody = list(range(SIZE))
    tensor = torch.full((SIZE,), rank + 1.0, device="cuda")
    equal(collectives.all_reduce(tensor, "sum", everybody) + 0, torch.full((SIZE,), 6.0))
    equal(collectives.reduce_scatter_tensor(tensor, "avg", 0, everybody) + 0, torch.full((1,), 2.0))
    leaf = tensor.clone().requires_grad_()
    collectives.all_gather_tensor_autograd(leaf, 0, dist.group.WORLD).square().sum().backward()
    equal(leaf.grad, torch.full((SIZE,), 2.0 * SIZE * (rank + 1)))
    leaf = tensor.clone().requires_grad_()
    (with_grad.all_reduce(leaf * 2) * (rank + 1)).sum().backward()
    equal(leaf.grad, torch.full((SIZE,), 12.0))


def errors(rank):
    nccl = dist.new_group(backend="nccl")
    cuda = torch.ones(4, device="cuda")
    ranks.raises(
        RuntimeError, "No backend type associated with device type cpu", lambda: dist.all_reduce(torch.ones(1), group=nccl)
    )
    for op, name in ((dist.ReduceOp.BAND, "BAND"), (dist.ReduceOp.BOR, "BOR"), (dist.ReduceOp.BXOR, "BXOR")):
        integers = torch.ones(1, dtype=torch.int32, device="cuda")
        ranks.raises(
            ValueError, f"Cannot use ReduceOp.{name} with NCCL", lambda: dist.all_reduce(integers, op, group=nccl)
        )
    ranks.raises(
        TypeError,
        "Input tensor data type is not supported for NCCL process group: Short",
        lambda: dist.all_reduce(cuda.short(), group=nccl),
    )
    ranks.raises(
        ValueError,
        "Tensors must be contiguous",
        lambda: dist.all_reduce(torch.ones(4, 4, device="cuda").t()[:2], group=nccl),
    )
    ranks.raises(
        ValueError,
        "output tensor size must be equal to world_size times input tensor size",
        lambda: dist.all_gather_into_tensor(torch.empty(5, device="cuda"), cuda, group=nccl),
    )
    ranks.raises(
        ValueError,
        "Expected list of tensors on the same device",
        lambda: dist.all_gather([torch.ones(4, device=f"cuda:{i}") for i in range(SIZE)], cuda, group=nccl),
    )
    ranks.raises(
        ValueError, "monitored_barrier is only implemented for GLOO backend.", lambda: dist.monitored_barrier(nccl)
    )


def duplicate_device(rank):
    group = dist.new_group(backend="nccl")
    ranks.raises(
        dist.DistBackendError,
        "Duplicate GPU detected : rank",
        lambda: dist.all_reduce(torch.ones(1, device="cuda:0"), group=group),
    )


def devices_made_visible_per_process(rank):
    """Launchers may let each process see one device only, as its cuda:0."""
    assert torch.cuda.device_count() == 1
    tensor = torch.ones(1, device="cuda:0")
    dist.all_reduce(tensor)
    assert tensor.item() == 2
    dist.barrier()


def timeout(rank):
    group = dist.new_group(backend="nccl", timeout=datetime.timedelta(seconds=1))
    tensor = torch.ones(2, device="cuda")
    dist.all_reduce(tensor, group=group)
    if rank == 0:
        start = time.monotonic()
        ranks.raises(
            dist.DistBackendError,
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=2, NumelOut=2,",
            lambda: dist.all_reduce(tensor, group=group),
        )
        assert time.monotonic() - start < 15
    dist.barrier(device_ids=[rank])


def bound_device(rank):
    assert dist.group.WORLD.bound_device_id == torch.device("cuda", rank)
    other = torch.ones(1, device=f"cuda:{(rank + 1) % SIZE}")
    ranks.raises(
        dist.DistBackendError,
        "Attempt to perform collective on tensor not on device passed to init_process_group",
        lambda: dist.all_reduce(other),
    )
    tensor = torch.ones(1, device="cuda")
    half = dist.split_group(split_ranks=[[0, 1], [2]])
    dist.all_reduce(tensor, group=half)
    equal(tensor, torch.ones(1) * (2 if rank < 2 else 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dist.barrier()


if __name__ == "__main__":
    ranks.run(
        [
            availability,
            all_reduce,
            all_reduce_average,
            all_reduce_bool_and_complex,
            channels_last,
            broadcast_and_reduce,
            gathers,
            reduce_scatters,
            all_to_alls,
            point_to_point,
            exchanges_keep_no_memory,
            objects,
            results_arrive_when_waited_for,
            coalesced,
            groups,
            functional,
            errors,
            duplicate_device,
            timeout,
        ],
        SIZE,
    )
    ranks.run([bound_device], SIZE, backend=None, bind=True)
    ranks.run([devices_made_visible_per_process], 2, backend="nccl", own_device=True)
