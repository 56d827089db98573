"""update() and compute() of every metric on two devices, for `devsan run --sim=2`, which reports any wait and any implicit
copy. With --eager, update() waits, so that a run that reports nothing is known to have looked."""

import sys

import torch

import devsan
from common import KINDS, NAMES, batch, make

eager = "--eager" in sys.argv[1:]
generator = torch.Generator().manual_seed(0)
for name in NAMES:
    more = {"validate": "eager"} if eager and any(item.name == "validate" for item in KINDS[name].arguments) else {}
    for device in ("cuda:0", "cuda:1"):
        with devsan.allow_sync():
            inputs = [tensor.to(device) for tensor in batch(name, 16, generator)]
        metric = make(name, **more)
        for _ in range(3):
            metric.update(*inputs)
        assert metric.device == torch.device(device)
        if name != "CatMetric":  # the size of its result depends on the values
            value = metric.compute()
            assert all(result.device == metric.device for result in (value if isinstance(value, tuple) else [value]))
            metric(*inputs)
        metric.merge_state(metric.clone())
        with devsan.allow_sync():
            metric.to("cpu")
        metric.compute()
print(f"{len(NAMES)} metrics")
