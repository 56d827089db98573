"""Runs functions on several ranks, one process and one simulated device each, for the tests in this folder."""

import datetime
import os
import sys
import tempfile
import time
import traceback

TIMEOUT = datetime.timedelta(seconds=30)


def run(tests, size, backend="cpu:gloo,cuda:nccl", bind=False, own_device=False):
    """Each of `tests` is called with its rank on every rank, in one process group. A failure ends the run with status 1.

    The ranks meet in a file, so that no port is needed. With `bind` the group knows each rank's device; with `own_device`
    each process sees no other device.
    """
    import torch.multiprocessing as mp

    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(_rank, args=(size, tests, backend, os.path.join(folder, "store"), bind, own_device), nprocs=size)


def _rank(rank, size, tests, backend, store, bind, own_device):
    if own_device:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(rank)
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0 if own_device else rank)
    dist.init_process_group(
        backend,
        init_method=f"file://{store}",
        rank=rank,
        world_size=size,
        timeout=TIMEOUT,
        device_id=torch.device("cuda", rank) if bind else None,
    )
    for test in tests:
        start = time.monotonic()
        try:
            test(rank)
        except BaseException:
            print(f"rank {rank}: {test.__name__} failed\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            os._exit(1)
        if rank == 0:
            print(f"{test.__name__}: ok, {time.monotonic() - start:.1f} s", flush=True)
    dist.destroy_process_group()


def raises(kind, part, call):
    """Checks that `call` raises `kind` with `part` in its message."""
    try:
        call()
    except kind as error:
        assert part in str(error), f"expected {part!r} in {error!s}"
        return
    raise AssertionError(f"expected {kind.__name__} with {part!r}")
