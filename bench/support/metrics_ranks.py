"""What ranks cost: sync() beside TorchMetrics', and the memory of a gather. For bench/metrics.py, over Gloo on this machine."""

import json
import tempfile
import time
from pathlib import Path

PEARSON = "PearsonCorrCoef"
GATHERED = "SpearmanCorrCoef"  # keeps all samples


def _status(field):
    """Bytes of a field of the kernel's account of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def _peak_of(call):
    """How far the resident memory rises above what it was while `call` runs."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _status("VmRSS")
    call()
    return _status("VmHWM") - before


def _synced(metric):
    metric.sync()
    metric.unsync()


def _times(torch, ways, rounds, calls):
    """Seconds of one call in each way, the least of the rounds, which take turns."""
    least = {}
    for _ in range(rounds):
        for name, way in ways.items():
            torch.distributed.barrier()
            begin = time.perf_counter()
            for _ in range(calls):
                way()
            spent = (time.perf_counter() - begin) / calls
            least[name] = min(least.get(name, spent), spent)
    return least


def _rank(rank, world, folder, samples, rounds):
    import warnings

    import torch
    import torchmetrics.regression

    import devsan.metrics

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    generator = torch.Generator().manual_seed(rank)
    made = {"ours": devsan.metrics, "theirs": torchmetrics.regression}

    pearsons = {name: getattr(module, PEARSON)() for name, module in made.items()}
    inputs = torch.rand(2, 1024, generator=generator)
    for metric in pearsons.values():
        metric.update(*inputs)
        _synced(metric)
    result = {"sync": _times(torch, {name: lambda metric=metric: _synced(metric) for name, metric in pearsons.items()}, rounds, 20)}
    values = [metric.compute() for metric in pearsons.values()]
    assert torch.allclose(*values, atol=1e-5), values

    result["peak"] = {}
    inputs = torch.rand(2, samples, generator=generator)
    for name, module in made.items():
        metric = getattr(module, GATHERED)()
        metric.update(*inputs)
        if name == "ours":
            metric.metric_state  # noqa: B018  concatenates the lists, as any rank's are before they travel
        torch.distributed.barrier()
        result["peak"][name] = _peak_of(metric.sync) / inputs.nbytes
        metric.unsync()
    if rank == 0:
        (folder / "result").write_text(json.dumps(result))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def measure(world, samples=1 << 22, rounds=10):
    """On `world` ranks: {"sync": seconds of sync() and unsync() of a Pearson correlation, "peak": the memory that sync() of a list
    state takes at most, as a multiple of a rank's state}, each of "ours" and "theirs"."""
    import torch

    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_rank, args=(world, Path(folder), samples, rounds), nprocs=world)
        return json.loads((Path(folder) / "result").read_text())


def report(worlds=(2, 4)):
    """Prints it; what is asked for is said of two ranks."""
    print("\nranks (Gloo, one machine): sync() and unsync() of a Pearson correlation, and the peak memory of sync() of all samples")
    for world in worlds:
        figures = measure(world, samples=1 << (22 if world <= 2 else 20))
        sync, peak = figures["sync"], figures["peak"]
        ratio = sync["theirs"] / sync["ours"]
        asked = f" (at least 20: {'yes' if ratio >= 20 else 'NO'})" if world == 2 else ""
        bound = 2 * world + 1  # of Gloo, see docs/design/metrics-states.md
        within = "yes" if peak["ours"] <= bound + 0.1 else "NO"
        print(f"  {world} ranks: {sync['ours'] * 1e6:8.1f} us, TorchMetrics {sync['theirs'] * 1e6:8.1f} us, {ratio:.1f} times{asked}; "
              f"peak {peak['ours']:.2f} times a rank's state (at most {bound}: {within}), TorchMetrics {peak['theirs']:.2f}", flush=True)  # fmt: skip
