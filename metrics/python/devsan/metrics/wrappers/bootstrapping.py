"""Metrics of resampled batches."""

from typing import Any, Literal

import torch
from torch import Tensor

from devsan.metrics.metric import Metric
from devsan.metrics.wrappers._wrapper import OfSeveral


def _takes_nothing(metric):
    """Whether `update()` takes an empty batch, as each of devsan.metrics does. One of the program's may not."""
    parts = (part for part in metric.modules() if isinstance(part, Metric))
    return all(type(part).update.__module__.startswith("devsan.metrics.") for part in parts)


class BootStrapper(OfSeveral):
    """How sure a metric is: its values over resampled batches. With the same seed the samples are those of TorchMetrics.

    `compute()` gives a dictionary of "mean", "std", "quantile" (over the bootstraps) and "raw", as far as they are asked for.

    Args:
        base_metric: of which each bootstrap has a copy.
        num_bootstraps: how many.
        mean, std, raw: what `compute()` has.
        quantile: a number in [0, 1], or several as a tensor.
        sampling_strategy: each sample as often as a Poisson variable of mean 1 says ('poisson'), or as many samples as the batch has,
            with replacement ('multinomial').
        kwargs: as those of MinMaxMetric.
    """

    def __init__(
        self,
        base_metric: Metric,
        num_bootstraps: int = 10,
        mean: bool = True,
        std: bool = True,
        quantile: float | Tensor | None = None,
        raw: bool = False,
        sampling_strategy: Literal["poisson", "multinomial"] = "poisson",
        **kwargs: Any,
    ) -> None:
        if not isinstance(num_bootstraps, int) or num_bootstraps < 1:
            raise ValueError(f"BootStrapper: num_bootstraps is {num_bootstraps!r}; pass a positive number")
        if sampling_strategy not in ("poisson", "multinomial"):
            raise ValueError(f"BootStrapper: sampling_strategy is {sampling_strategy!r}; pass 'poisson' or 'multinomial'")
        super().__init__(base_metric, num_bootstraps, **kwargs)
        self.num_bootstraps = num_bootstraps
        self.mean, self.std, self.quantile, self.raw = mean, std, quantile, raw
        self.sampling_strategy = sampling_strategy

    def _draw(self, size, device):
        """The samples of each bootstrap."""
        once = torch.ones(self.num_bootstraps, size)
        if self.sampling_strategy == "poisson" or not size:
            times = torch.poisson(once).long()
            drawn = torch.arange(size).repeat(self.num_bootstraps).repeat_interleave(times.view(-1))
            sizes = times.sum(1).tolist()
        else:
            drawn = torch.multinomial(once, num_samples=size, replacement=True).view(-1)
            sizes = size
        pinned = drawn if device.type in ("cpu", "meta") else drawn.pin_memory()  # from where nobody waits
        return pinned.to(device, non_blocking=True).split(sizes)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As that of the metric, of inputs [N, ...]; each bootstrap sees samples of its own."""
        first = next((given for given in (*args, *kwargs.values()) if torch.is_tensor(given)), None)
        if first is None:
            raise ValueError("BootStrapper: no input is a tensor, so that nothing can be drawn from it; pass tensors")
        self._check_not_captured([first], "the host draws the samples")

        def each():
            for metric, drawn in zip(self.metrics, self._draw(len(first), first.device)):
                if not len(drawn) and not _takes_nothing(metric):
                    metric._core.updates += 1
                    continue

                def samples(given):
                    return given.index_select(0, drawn) if torch.is_tensor(given) else given

                metric.update(*map(samples, args), **{name: samples(given) for name, given in kwargs.items()})

        self._core.all_or_nothing(each, self.num_bootstraps - 1)

    def _value(self) -> dict[str, Tensor]:
        values = torch.stack([metric.compute() for metric in self.metrics])
        results = {}
        if self.mean:
            results["mean"] = values.mean(0)
        if self.std:
            results["std"] = values.std(0)
        if self.quantile is not None:
            quantile = self.quantile
            results["quantile"] = values.quantile(quantile.to(values) if torch.is_tensor(quantile) else quantile, 0)
        if self.raw:
            results["raw"] = values
        return results
