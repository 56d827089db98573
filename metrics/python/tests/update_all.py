"""update() and compute() of every metric on two devices, for `devsan run --sim=2`, which reports any wait and any implicit
copy. With --eager, update() waits, so that a run that reports nothing is known to have looked."""

import sys

import torch

import devsan
from common import EXACT, NAMES, arguments_of, batch, kind_of, make, metric_class, moved, tensors

eager = "--eager" in sys.argv[1:]
generator = torch.Generator().manual_seed(0)
for name in NAMES:
    more = {"validate": "eager"} if eager and "validate" in arguments_of(kind_of(name)) else {}
    for device in ("cuda:0", "cuda:1"):
        with devsan.allow_sync():
            inputs = moved(batch(name, 16, generator), device)
        metric = make(name, **more)
        for _ in range(3):
            metric.update(*inputs)
        assert metric.device == torch.device(device)
        # The size of the result, or the loop that it takes, depends on the values.
        if name not in ("CatMetric", "MeanAveragePrecision") and not (name.endswith(EXACT) and name.removesuffix(EXACT).endswith(("ROC", "Curve"))):
            assert all(result.device == metric.device for result in tensors(metric.compute()))
            metric(*inputs)
        metric.merge_state(metric.clone())
        with devsan.allow_sync():
            metric.compute()
            metric.to("cpu")
        metric.compute()
frechet = metric_class("FrechetInceptionDistance")(4)
with devsan.allow_sync():
    features = torch.rand(8, 4, generator=generator).to("cuda:1")
for real in (True, False):
    frechet.update(features, real=real)
for policy in ("per_device", "move"):
    metric = make("MulticlassAccuracy", device_policy=policy)
    for device in ("cuda:1", "cuda:0"):
        with devsan.allow_sync():
            inputs = [tensor.to(device) for tensor in batch("MulticlassAccuracy", 16, generator)]
        metric.update(*inputs)
    assert metric.compute().device == torch.device("cuda:1" if policy == "per_device" else "cuda:0")
    assert metric.update_count == 2 and metric.clone().update_count == 2
print(f"{len(NAMES)} metrics")
