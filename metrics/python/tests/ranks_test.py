"""Ranks of a Gloo group: compute() is that of all samples, whatever each rank has seen."""

import pickle

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

import devsan.metrics
from common import CLASSES, NAMES, assert_same, batch, joined, make

# Samples of each rank, by the number of ranks: uneven, and idle.
SAMPLES = {1: (6,), 2: (9, 2), 3: (4, 0, 7), 4: (1, 8, 3, 5)}
SOME = ("MulticlassAccuracy", "MulticlassConfusionMatrix", "BinaryROC", "MeanMetric", "MaxMetric", "CatMetric",
        "MeanSquaredError", "PearsonCorrCoef", "SpearmanCorrCoef")  # fmt: skip


def batches(name, ranks):
    """Of each rank, the same on all; None of an idle one."""
    generator = torch.Generator().manual_seed(ranks)
    return [batch(name, n, generator) if n else None for n in SAMPLES[ranks]]


def check(name, rank, ranks, group):
    by_rank = batches(name, ranks)
    whole, alone = make(name, sync_on_compute=False), make(name)
    whole.update(*joined([inputs for inputs in by_rank if inputs]))
    metric = make(name, process_group=group)
    if by_rank[rank]:
        metric.update(*by_rank[rank])
        alone.update(*by_rank[rank])
    assert_same(metric.compute(), whole.compute(), 1e-5, 1e-6)
    # compute() has brought back this rank's own states.
    assert metric.update_count == (1 if by_rank[rank] else 0)
    torch.testing.assert_close(metric.metric_state, alone.metric_state, rtol=0, atol=0, equal_nan=True)
    assert metric.compute() is metric.compute()  # no collective the second time


def check_by_hand(rank, ranks, group):
    metric = devsan.metrics.SumMetric(process_group=group)
    metric.update(float(rank + 1))
    total = ranks * (ranks + 1) / 2
    metric.sync()
    assert metric.compute() == total
    for forbidden in (lambda: metric.update(1.0), metric.sync, lambda: metric.merge_state(metric), lambda: pickle.dumps(metric)):
        with pytest.raises(RuntimeError, match="call unsync\\(\\) first"):
            forbidden()
    metric.unsync()
    metric = metric.clone()  # of the same group
    with metric.sync_context():
        assert metric.compute() == total
    metric.sync(should_sync=False)
    metric.sync(distributed_available=lambda: False)
    metric.update(1.0)  # so it is not synchronised

    # A batch of all ranks.
    step = devsan.metrics.MeanMetric(dist_sync_on_step=True, process_group=group)
    step.update(100.0)
    assert step(torch.full((rank + 1,), float(rank))) == sum(r * (r + 1) for r in range(ranks)) / total
    never = devsan.metrics.SumMetric(distributed_available_fn=lambda: False)
    never.update(float(rank))
    assert never.compute() == rank
    if ranks > 1:
        other = make("MeanMetric" if rank else "SumMetric", process_group=group)
        other.update(1.0)
        with pytest.raises(RuntimeError, match="syncs another metric or other options"):
            other.compute()
        other.update(1.0)


def collection(group=None, **more):
    lib = devsan.metrics
    return lib.MetricCollection(
        {
            "accuracy": lib.MulticlassAccuracy(CLASSES, process_group=group, **more),
            "recall": lib.MulticlassRecall(CLASSES, process_group=group, **more),
            "area": lib.MulticlassAUROC(CLASSES, process_group=group, **more),
            "extremes": lib.MinMaxMetric(lib.MulticlassPrecision(CLASSES, process_group=group, **more)),
            "last": lib.Running(lib.MulticlassConfusionMatrix(CLASSES, process_group=group, **more), window=2),
            "classes": lib.ClasswiseWrapper(lib.MulticlassF1Score(CLASSES, average=None, process_group=group, **more)),
        }
    )


def check_together(rank, ranks, group):
    by_rank = batches("MulticlassAccuracy", ranks)
    whole = collection(sync_on_compute=False)
    whole.update(*joined([inputs for inputs in by_rank if inputs]))
    metrics = collection(group)
    tracker = devsan.metrics.MetricTracker(collection(group), maximize=True)
    bootstraps = devsan.metrics.BootStrapper(devsan.metrics.MulticlassAccuracy(CLASSES), num_bootstraps=3, raw=True, process_group=group)
    for updated in (metrics, bootstraps):
        if by_rank[rank]:
            updated.update(*by_rank[rank])
    for name, value in metrics.compute().items():
        assert_same(value, whole.compute()[name], 1e-5, 1e-6)
    assert list(metrics.compute_groups.values()) == [["accuracy", "classes", "extremes", "recall"], ["area"], ["last"]]
    # This rank's own states are back.
    assert metrics["accuracy"].update_count == (1 if by_rank[rank] else 0)
    with metrics.sync_context():
        with pytest.raises(RuntimeError, match="call unsync\\(\\) first"):
            metrics.update(*by_rank[0])
        assert_same(metrics["recall"].compute(), whole["recall"].compute())
    alone = [torch.empty(3) for _ in range(ranks)]
    value = bootstraps.compute()["raw"]
    dist.all_gather(alone, value, group=group)
    assert all(torch.equal(other, value) for other in alone)  # of all ranks, the same on each
    for _ in range(2):
        tracker.increment()
        tracker.update(*by_rank[0])
    expected = collection(sync_on_compute=False)
    for _ in range(ranks):
        expected.update(*by_rank[0])
    for name, value in tracker.compute_all().items():
        if name != "last":
            assert_same(value, torch.stack([expected.compute()[name]] * 2), 1e-5, 1e-6)


def work(rank, world, file):
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    torch.set_num_threads(1)
    for ranks in SAMPLES:
        group = dist.new_group(range(ranks)) if ranks < world else None  # None: the default group
        if rank < ranks:
            for name in NAMES if ranks == 2 else SOME:
                check(name, rank, ranks, group)
            check_by_hand(rank, ranks, group)
            check_together(rank, ranks, group)
    dist.barrier()
    dist.destroy_process_group()


def test_ranks(tmp_path):
    mp.spawn(work, args=(max(SAMPLES), tmp_path / "store"), nprocs=max(SAMPLES))
