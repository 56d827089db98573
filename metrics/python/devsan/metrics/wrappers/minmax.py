"""Extremes of a metric."""

from typing import Any

import torch
from torch import Tensor

from devsan.metrics.metric import Metric
from devsan.metrics.wrappers._wrapper import OfOne


class MinMaxMetric(OfOne):
    """The value of a metric ("raw"), and the largest ("max") and smallest ("min") that `compute()`, or calling the metric, has
    given since construction or `reset()`. NaN is neither.

    Args:
        base_metric: of one value.
        kwargs: `process_group`, `sync_on_compute`, `dist_sync_on_step`, `compute_with_cache`, `distributed_available_fn`; by default
            those of the metric.
    """

    _inner = "_base_metric"
    _wrapped = "base metric"

    def __init__(self, base_metric: Metric, **kwargs: Any) -> None:
        super().__init__(base_metric, **kwargs)
        self._base_metric = base_metric
        self.register_buffer("min_val", torch.tensor(float("inf")), persistent=False)
        self.register_buffer("max_val", torch.tensor(float("-inf")), persistent=False)
        self._use(self._made())

    def _value(self) -> dict[str, Tensor]:
        value = self._base_metric.compute()
        if not torch.is_tensor(value) or value.numel() != 1:
            raise RuntimeError(f"MinMaxMetric: Returned value from base metric should be a float or scalar tensor, but got {value}")
        wide = torch.float32 if value.is_mps else torch.float64  # for whole numbers
        real = value.reshape(()).to(value.dtype if value.is_floating_point() else wide)
        self._keep(real.masked_fill(real.isnan(), float("-inf")), real.masked_fill(real.isnan(), float("inf")))
        return {"raw": value, "max": self.max_val.to(real.dtype), "min": self.min_val.to(real.dtype)}

    def _keep(self, largest, smallest):
        self.max_val = torch.maximum(self.max_val.to(largest.device), largest)
        self.min_val = torch.minimum(self.min_val.to(smallest.device), smallest)

    def _merge_others(self, metric):
        if isinstance(metric, MinMaxMetric):  # and not the metric alone, whose states are the same
            self._keep(metric.max_val, metric.min_val)

    def reset(self) -> None:
        """Forgets everything seen, and the extremes."""
        super().reset()
        self.max_val = torch.full_like(self.max_val, float("-inf"))
        self.min_val = torch.full_like(self.min_val, float("inf"))

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self._persistent:
            destination[prefix + "min_val"], destination[prefix + "max_val"] = self.min_val, self.max_val

    def _load_from_state_dict(self, state_dict, prefix, *args):
        for name in ("min_val", "max_val"):
            extreme = state_dict.pop(prefix + name, None)
            if extreme is not None:
                setattr(self, name, extreme.detach().clone())
        super()._load_from_state_dict(state_dict, prefix, *args)
