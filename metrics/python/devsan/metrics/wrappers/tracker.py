"""A metric over the steps of a training."""

import copy
import warnings
from contextlib import nullcontext
from typing import Any

import torch

from devsan.metrics import _metrics
from devsan.metrics._metrics import MetricError
from devsan.metrics._plot import draw
from devsan.metrics.collections import MetricCollection
from devsan.metrics.metric import Metric


class MetricTracker(torch.nn.ModuleList):
    """A metric, or a collection, over steps such as epochs, each of which has states of its own.

        tracker = MetricTracker(MulticlassAccuracy(10))
        for epoch in range(epochs):
            tracker.increment()
            ...
            tracker.update(preds, target)
        best, epoch = tracker.best_metric(return_step=True)

    Args:
        metric: of which each step has a copy.
        maximize: whether a higher value is better; of a collection also one for each metric. None: what the metrics say.
    """

    def __init__(self, metric: Metric | MetricCollection, maximize: bool | list[bool] | None = None) -> None:
        super().__init__()
        if not isinstance(metric, (Metric, MetricCollection)):
            raise MetricError(
                f"MetricTracker: Metric arg need to be an instance of a devsan.metrics `Metric` or `MetricCollection` but got {metric!r}"
            )
        collection = isinstance(metric, MetricCollection)
        if maximize is None:
            parts = metric.items() if collection else [(type(metric).__name__, metric)]
            known = {name: part.higher_is_better for name, part in parts}
            for name, better in known.items():
                if better is None:
                    raise AttributeError(f"MetricTracker: {name} does not say whether a higher value is better; pass maximize")
            maximize = list(known.values()) if collection else metric.higher_is_better
        elif isinstance(maximize, list):
            if not collection:
                raise ValueError("MetricTracker: Argument `maximize` should be a single bool when `metric` is a single Metric")
            if not all(isinstance(better, bool) for better in maximize):
                raise ValueError(f"MetricTracker: maximize is {maximize!r}; pass bools")
            if len(maximize) != len(metric):
                raise ValueError(
                    "MetricTracker: The len of argument `maximize` should match the length of the metric collection, but there are "
                    f"{len(maximize)} and {len(metric)}"
                )
        elif not isinstance(maximize, bool):
            raise ValueError(f"MetricTracker: Argument `maximize` should either be a single bool or list of bool, but is {maximize!r}")
        self._base_metric = metric
        self.maximize = maximize

    @property
    def n_steps(self) -> int:
        """How many steps there are."""
        return len(self) - 1  # without the metric that they are copies of

    def _current(self, call):
        if not self.n_steps:
            raise ValueError(f"MetricTracker: `{call}` cannot be called before `.increment()` has been called.")
        return self[-1]

    def _steps(self):
        return list(self)[1:]

    def increment(self) -> None:
        """Begins a step."""
        self.append(copy.deepcopy(self._base_metric))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Accumulates a batch in the current step, and gives its value."""
        return self._current("forward")(*args, **kwargs)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """A batch of the current step."""
        self._current("update").update(*args, **kwargs)

    def compute(self) -> Any:
        """The value of the current step."""
        return self._current("compute").compute()

    def compute_all(self) -> Any:
        """The values of all steps, [n_steps, ...], of each result where there are several. The ranks exchange all steps at once."""
        values = self._by_step("compute_all")
        try:
            if isinstance(values[0], dict):
                return {name: torch.stack([value[name] for value in values]) for name in values[0]}
            if isinstance(values[0], (list, tuple)):
                return torch.stack([torch.stack(list(value)) for value in values])
            return torch.stack(values)
        except TypeError:  # of results in results
            return values

    def _by_step(self, call="plot"):
        self._current(call)
        with self._synchronised():
            return [step.compute() for step in self._steps()]

    def _synchronised(self):
        """All steps at once, where each is synchronised in one way."""
        steps = self._steps()
        like = steps[0]._alike() if isinstance(steps[0], MetricCollection) else steps[0]
        if like is None or not like.sync_on_compute:
            return nullcontext()
        together = _metrics.Bundle("MetricTracker", [(str(i), step._core) for i, step in enumerate(steps)])
        return _Synchronised(together, like)

    def plot(self, val: Any = None, ax: Any = None) -> tuple[Any, Any]:
        """Draws the values of all steps, or `val`, a list of them; see `Metric.plot()`."""
        return draw(type(self._base_metric).__name__, list(self._by_step() if val is None else val), ax)

    def best_metric(self, return_step: bool = False) -> Any:
        """The best value over the steps, of each result where there are several; with `return_step` also the number of its step.
        NaN is not the best of anything else. These are numbers, for which this waits for the device. None, with a warning, where no value is the best."""
        values = self.compute_all()
        if isinstance(values, list):
            warnings.warn("MetricTracker: Encountered nested structure, results in results, which has no best value; returning None")
            return (None, None) if return_step else None
        if not isinstance(values, dict):
            best = self._best("the metric", values, self.maximize)
            return best if return_step else best[0]
        found = {
            name: self._best(name, value, better) for (name, value), better in zip(values.items(), self._directions(values))
        }
        best, steps = ({name: pair[i] for name, pair in found.items()} for i in (0, 1))
        return (best, steps) if return_step else best

    def _directions(self, values):
        """Of each result, whether higher is better."""
        if not isinstance(self.maximize, list):
            return [self.maximize] * len(values)
        if len(self.maximize) == len(values):
            return self.maximize
        results = [part.compute() for part in self[-1].values()]  # kept from compute_all()
        counts = [len(result) if isinstance(result, dict) else 1 for result in results]
        return [better for better, count in zip(self.maximize, counts) for _ in range(count)]

    @staticmethod
    def _best(name, values, maximize):
        try:
            if values.dim() != 1:
                raise RuntimeError(f"a step has a value of shape {tuple(values.shape[1:])}")
            value, step = _metrics.best_of(values, bool(maximize))
            return value.item(), step.item()
        except RuntimeError as error:
            warnings.warn(
                f"MetricTracker: Encountered the following error when trying to get the best metric of {name}: {error}. It has no best "
                "value; returning None"
            )
            return None, None

    def reset(self) -> None:
        """Forgets what the current step has seen."""
        self._current("reset").reset()

    def reset_all(self) -> None:
        """Forgets what all steps have seen."""
        for metric in self:
            metric.reset()


class _Synchronised:
    """While the states of several metrics are those of all ranks."""

    def __init__(self, core, like):
        self.core, self.like = core, like

    def __enter__(self):
        self.like._sync_core(self.core)

    def __exit__(self, *error):
        if self.core.synced:
            self.core.unsync()
