"""update() and compute() of every metric on two devices, for `devsan run --sim=2`, which reports any wait and any implicit
copy. With --eager, update() waits, so that a run that reports nothing is known to have looked."""

import sys

import torch

import devsan
from common import EXACT, NAMES, arguments_of, batch, kind_of, make, tensors

eager = "--eager" in sys.argv[1:]
generator = torch.Generator().manual_seed(0)
for name in NAMES:
    more = {"validate": "eager"} if eager and "validate" in arguments_of(kind_of(name)) else {}
    for device in ("cuda:0", "cuda:1"):
        with devsan.allow_sync():
            inputs = [tensor.to(device) for tensor in batch(name, 16, generator)]
        metric = make(name, **more)
        for _ in range(3):
            metric.update(*inputs)
        assert metric.device == torch.device(device)
        # The size of the result depends on the values.
        if name != "CatMetric" and not (name.endswith(EXACT) and name.removesuffix(EXACT).endswith(("ROC", "Curve"))):
            assert all(result.device == metric.device for result in tensors(metric.compute()))
            metric(*inputs)
        metric.merge_state(metric.clone())
        with devsan.allow_sync():
            metric.to("cpu")
        metric.compute()
print(f"{len(NAMES)} metrics")
