"""A metric over the last updates."""

from typing import Any

import torch

from devsan.metrics import _metrics
from devsan.metrics.metric import Metric
from devsan.metrics.wrappers._wrapper import Wrapper


class Running(Wrapper):
    """A metric over the last `window` updates. Calling it gives the value of the batch.

    Merged and synchronised ones are of the last updates of each. The states of all updates in the window are kept, the newest
    first, and merged for the value.

    Args:
        base_metric: any metric of devsan.metrics, not a wrapper.
        window: the number of updates.
    """

    def __init__(self, base_metric: Metric, window: int = 5) -> None:
        super().__init__(base_metric)
        if isinstance(base_metric, Wrapper):
            raise ValueError(f"Running: {type(base_metric).__name__} is a wrapper; pass the metric in it, and wrap this")
        if not isinstance(window, int) or window < 1:
            raise ValueError(f"Running: Expected argument `window` to be a positive integer but got {window!r}")
        if base_metric.metric_state:
            raise ValueError(f"Running: the {type(base_metric).__name__} has seen something; pass one after reset()")
        self.base_metric = base_metric  # of the batch, and between updates of nothing
        self.window = window
        self._use(self._made())

    def _fresh(self):
        """A metric that has seen nothing, on the device where the metric was moved to."""
        core = self.base_metric._core.fresh()
        if self._pinned or self.base_metric._pinned:
            core.to(self.base_metric.device)
        return core

    def _made(self):
        slots = [(f"window.{i}", self._fresh()) for i in range(self.window)]
        self.__dict__["_slots"] = [slot for _, slot in slots]
        return _metrics.Bundle("Running", [("base_metric", self.base_metric._core), *slots])

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As that of the metric."""
        self._check_not_captured((*args, *kwargs.values()), "its window moves on by one metric in each call")
        self.base_metric.update(*args, **kwargs)
        for older, newer in zip(self._slots[:0:-1], self._slots[-2::-1]):
            older.swap(newer)
        core = self.base_metric._core
        self._slots[0].swap(core)
        core.swap(self._fresh())  # and not reset(): the oldest one may be wanted back
        self._core.updates += 1

    def _value(self) -> Any:
        core, total = self.base_metric._core, self._core.merged()
        total.updates = self._core.updates
        core.swap(total)
        try:
            return self.base_metric.compute()
        finally:
            core.swap(total)

    def _apply(self, fn, recurse=True):
        here = self._slots[0].device or torch.device("cpu")
        there = fn(torch.empty(0, device=here)).device
        super()._apply(fn, recurse)
        if there != here:
            self._move(there)
        return self

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self._persistent:
            for name, state in self._core.states().items():
                destination[prefix + name] = state.clone()

    def _own_state(self, name):
        return name if name.startswith("window.") else None

    def _state_of(self, name):
        return self._own_state(name)

    def __getstate__(self):
        state = super().__getstate__()
        del state["_slots"]
        return state | {"_saved": self._core.states()}

    def __setstate__(self, state):
        state = dict(state)
        saved = state.pop("_saved")
        super().__setstate__(state)
        if saved:
            self._core.load(saved)
