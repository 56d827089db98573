"""Metrics of several tasks."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self

from devsan.metrics import _metrics
from devsan.metrics._metrics import MetricError
from devsan.metrics._plot import axes_of
from devsan.metrics.collections import MetricCollection
from devsan.metrics.metric import Metric


class MultitaskWrapper(torch.nn.Module):
    """A metric, or a collection, for each of several tasks, whose inputs and values are dictionaries by task.

        metrics = MultitaskWrapper({"depth": MeanSquaredError(), "class": MulticlassAccuracy(10)}, prefix="val_")
        metrics.update({"depth": depth, "class": scores}, {"depth": true_depth, "class": labels})
        metrics.compute()["val_depth"]

    Where a task cannot take a batch, no task has seen it.

    Args:
        task_metrics: by the names of the tasks.
        prefix: before each name in the results.
        postfix: after each.
    """

    def __init__(
        self, task_metrics: dict[str, Metric | MetricCollection], prefix: str | None = None, postfix: str | None = None
    ) -> None:
        super().__init__()
        if not isinstance(task_metrics, dict) or not task_metrics:
            raise MetricError(f"MultitaskWrapper: Expected argument `task_metrics` to be a dict of metrics by task, but got {task_metrics!r}")
        for task, metric in task_metrics.items():
            if not isinstance(metric, (Metric, MetricCollection, MultitaskWrapper)):
                raise MetricError(
                    f"MultitaskWrapper: Expected each task's metric to be a Metric or a MetricCollection, but that of {task!r} is {metric!r}"
                )
        self._prefix, self._postfix = self._check_arg(prefix, "prefix") or "", self._check_arg(postfix, "postfix") or ""
        self.task_metrics = torch.nn.ModuleDict(task_metrics)

    @staticmethod
    def _check_arg(arg: str | None, name: str) -> str | None:
        if arg is None or isinstance(arg, str):
            return arg
        raise MetricError(f"MultitaskWrapper: Expected input `{name}` to be a string, but got {type(arg)}")

    @property
    def _core(self):
        cores = [(task, metric._core) for task, metric in self.task_metrics.items()]
        return _metrics.Bundle("MultitaskWrapper", cores)

    def _named(self, name):
        return f"{self._prefix}{name}{self._postfix}"

    def _together(self, call, task_preds, task_targets):
        """The values of call(metric, preds, target) by task."""
        tasks = self.task_metrics.keys()
        for given in (task_preds, task_targets):
            if not isinstance(given, dict):
                raise MetricError(f"MultitaskWrapper: Expected a dict of the tasks {list(tasks)}, but got {type(given)}")
        if not task_preds.keys() == task_targets.keys() == set(tasks):
            raise MetricError(
                "MultitaskWrapper: Expected arguments `task_preds` and `task_targets` to have the same keys as the wrapped `task_metrics`"
                f". Found task_preds.keys() = {task_preds.keys()}, task_targets.keys() = {task_targets.keys()} and self.task_metrics.keys() = {tasks}"
            )
        values = {}

        def each():
            for task, metric in self.task_metrics.items():
                values[task] = call(metric, task_preds[task], task_targets[task])

        self._core.all_or_nothing(each, len(self.task_metrics) - 1)
        return values

    def update(self, task_preds: dict[str, Tensor], task_targets: dict[str, Tensor]) -> None:
        """A batch of all tasks."""
        self._together(lambda metric, preds, target: metric.update(preds, target), task_preds, task_targets)

    def forward(self, task_preds: dict[str, Tensor], task_targets: dict[str, Tensor]) -> dict[str, Any]:
        """Accumulates a batch of all tasks, and gives its values."""
        values = self._together(lambda metric, preds, target: metric(preds, target), task_preds, task_targets)
        return {self._named(task): value for task, value in values.items()}

    def compute(self) -> dict[str, Any]:
        """The value of each task; of a collection, its dictionary."""
        return {self._named(task): metric.compute() for task, metric in self.task_metrics.items()}

    def reset(self) -> None:
        """Forgets everything seen."""
        for metric in self.task_metrics.values():
            metric.reset()

    def items(self, flatten: bool = True) -> Iterator[tuple[str, Metric | MetricCollection]]:
        """The names in the results with their metrics; with `flatten` those of collections each for itself."""
        for task, metric in self.task_metrics.items():
            if flatten and isinstance(metric, MetricCollection):
                yield from ((self._named(f"{task}_{name}"), part) for name, part in metric.items())
            else:
                yield self._named(task), metric

    def keys(self, flatten: bool = True) -> Iterator[str]:
        return (name for name, _ in self.items(flatten))

    def values(self, flatten: bool = True) -> Iterator[Metric | MetricCollection]:
        return (metric for _, metric in self.items(flatten))

    def plot(self, val: Any = None, axes: Any = None) -> list[Any]:
        """Draws the value of each task on axes of its own; see `Metric.plot()` and `MetricCollection.plot()`."""
        val = self.compute() if val is None else val
        axes = [None] * len(self.task_metrics) if axes is None else axes_of(axes)
        if len(axes) != len(self.task_metrics):
            raise ValueError(f"MultitaskWrapper: axes has {len(axes)}; pass one for each of {', '.join(self.task_metrics)}")
        drawn = []
        for (task, metric), axis in zip(self.task_metrics.items(), axes):
            name = self._named(task)
            of_task = [step[name] for step in val] if isinstance(val, (list, tuple)) else val[name]
            together = {"together": True} if isinstance(metric, MetricCollection) else {}
            drawn.append(metric.plot(of_task, axis, **together))
        return drawn

    def persistent(self, mode: bool = True) -> None:
        """Whether the states are part of `state_dict()`; at first they are not."""
        for metric in self.task_metrics.values():
            metric.persistent(mode)

    def clone(self, prefix: str | None = None, postfix: str | None = None) -> Self:
        """A copy with states of its own, and these names in the results."""
        copied = copy.deepcopy(self)
        copied._prefix, copied._postfix = self._check_arg(prefix, "prefix") or "", self._check_arg(postfix, "postfix") or ""
        return copied
