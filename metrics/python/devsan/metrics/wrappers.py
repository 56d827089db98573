"""Metrics made of metrics, with TorchMetrics' names, arguments and results."""

import copy
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any, Literal, Self

import torch
from torch import Tensor

from devsan.metrics import _metrics
from devsan.metrics._plot import axes_of, draw
from devsan.metrics.collections import MetricCollection
from devsan.metrics.metric import Metric

__all__ = [
    "BootStrapper",
    "ClasswiseWrapper",
    "MetricTracker",
    "MinMaxMetric",
    "MultioutputWrapper",
    "MultitaskWrapper",
    "Running",
]

_EVERY = ("process_group", "sync_on_compute", "dist_sync_on_step", "compute_with_cache", "distributed_available_fn")


class _Wrapper(Metric):
    """A metric made of others. What is said of ranks follows from the metric, unless it is said here."""

    _kind = None
    _update_in_core = None

    def __init__(self, metric, **every):
        torch.nn.Module.__init__(self)
        if not isinstance(metric, Metric):
            raise ValueError(f"{type(self).__name__}: {metric!r} is no devsan.metrics.Metric")
        unknown = set(every) - set(_EVERY)
        if unknown:
            raise TypeError(f"{type(self).__name__}: there is no argument {sorted(unknown)[0]!r}; pass one of {', '.join(_EVERY)}")
        for name in _EVERY:
            setattr(self, name, every.get(name, getattr(metric, name)))
        self.higher_is_better = metric.higher_is_better
        self._device_policy = metric._device_policy
        self._pinned = False
        self._persistent = False
        self._syncs = self.sync_on_compute

    def _use(self, core):
        state = self.__dict__
        state["_core"] = core
        state["_computed"] = None

    def _made(self):
        """The core, of the metrics in this one."""
        raise NotImplementedError

    def _value(self):
        """What `compute()` gives, while synchronised."""
        raise NotImplementedError

    def compute(self) -> Any:
        core = self._core
        computed = self._computed
        if computed is not None and computed[0] == core.version:
            return computed[1]
        inner = list(self._inner_metrics())
        with self.sync_context(should_sync=self._syncs and not core.synced):
            for metric in inner:
                metric._syncs = False  # all of them are synchronised here, or none
            try:
                value = self._value()
            finally:
                for metric in inner:
                    metric._syncs = metric.sync_on_compute
        if self.compute_with_cache:
            self.__dict__["_computed"] = core.version, value
        return value

    def _sharer(self):
        return None

    def _move(self, device):
        super()._move(device)
        for metric in self._inner_metrics():
            metric._pinned = True

    def persistent(self, mode: bool = False) -> None:
        """Whether the states are part of `state_dict()`; at first they are not."""
        for metric in self._inner_metrics():
            metric.persistent(mode)
        self._persistent = mode

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        torch.nn.Module._save_to_state_dict(self, destination, prefix, keep_vars)  # the metrics save their own

    def _own_state(self, name):
        return None

    def _filter_kwargs(self, **kwargs: Any) -> dict[str, Any]:
        return next(self._inner_metrics())._filter_kwargs(**kwargs)

    def _inner_metrics(self):
        return (module for module in self.modules() if isinstance(module, Metric) and module is not self)

    def __getstate__(self):
        if self._core.synced:
            raise RuntimeError(f"{type(self).__name__}: a synchronised metric cannot be copied; call unsync() first")
        state = {name: value for name, value in self.__dict__.items() if name not in ("_core", "_computed")}
        return state | {"_updates": self._core.updates}

    def __setstate__(self, state):
        state = dict(state)
        updates = state.pop("_updates")
        torch.nn.Module.__setstate__(self, state)
        self._use(self._made())
        self._core.updates = updates

    def extra_repr(self) -> str:
        return ""


class _OfOne(_Wrapper):
    """Another view of one metric, whose states are its states."""

    _inner: str  # the attribute

    def _made(self):
        return getattr(self, self._inner)._core

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As that of the metric."""
        getattr(self, self._inner).update(*args, **kwargs)

    def reset(self) -> None:
        """Forgets everything seen."""
        getattr(self, self._inner).reset()

    def _sharer(self):
        plain = type(self).update is _OfOne.update
        return getattr(self, self._inner)._sharer() if plain else None

    def _state_of(self, name):
        inner, _, rest = name.partition(".")
        return getattr(self, inner)._state_of(rest) if inner == self._inner else None


class ClasswiseWrapper(_OfOne):
    """The values of a metric that has one for each class, by the classes' labels.

    Args:
        metric: with average=None or 'none'.
        labels: of the classes, in their order; by default their indices.
        prefix: before each label. By default the name of the metric's class in lower case and "_", if there is no postfix.
        postfix: after each.
    """

    _inner = "metric"

    def __init__(
        self, metric: Metric, labels: list[str] | None = None, prefix: str | None = None, postfix: str | None = None
    ) -> None:
        super().__init__(metric)
        if labels is not None and not (isinstance(labels, list) and all(isinstance(label, str) for label in labels)):
            raise ValueError(f"ClasswiseWrapper: labels is {labels!r}; pass a list of strings or None")
        for name, given in (("prefix", prefix), ("postfix", postfix)):
            if given is not None and not isinstance(given, str):
                raise ValueError(f"ClasswiseWrapper: {name} is {given!r}; pass a string or None")
        self.metric = metric
        self.labels = labels
        self._prefix, self._postfix = prefix, postfix
        self._use(self._made())

    def _value(self) -> dict[str, Tensor]:
        value = self.metric.compute()
        if not torch.is_tensor(value) or value.dim() == 0:
            raise RuntimeError(
                f"ClasswiseWrapper: {type(self.metric).__name__} has one value for all classes; pass a metric with average='none'"
            )
        labels = range(len(value)) if self.labels is None else self.labels
        if len(labels) != len(value):
            raise RuntimeError(f"ClasswiseWrapper: there are {len(labels)} labels, but {len(value)} values; pass one for each class")
        prefix, postfix = self._prefix or "", self._postfix or ""
        if not prefix and not postfix:
            prefix = f"{type(self.metric).__name__.lower()}_"
        return {f"{prefix}{label}{postfix}": of_class for label, of_class in zip(labels, value)}


class MinMaxMetric(_OfOne):
    """The value of a metric ("raw"), and the largest ("max") and smallest ("min") that `compute()`, or calling the metric, has
    given since construction or `reset()`. NaN is neither.

    Args:
        base_metric: of one value.
        kwargs: `process_group`, `sync_on_compute`, `dist_sync_on_step`, `compute_with_cache`, `distributed_available_fn`; by default
            those of the metric.
    """

    _inner = "_base_metric"

    def __init__(self, base_metric: Metric, **kwargs: Any) -> None:
        super().__init__(base_metric, **kwargs)
        self._base_metric = base_metric
        self.register_buffer("min_val", torch.tensor(float("inf")), persistent=False)
        self.register_buffer("max_val", torch.tensor(float("-inf")), persistent=False)
        self._use(self._made())

    def _value(self) -> dict[str, Tensor]:
        value = self._base_metric.compute()
        if not torch.is_tensor(value) or value.numel() != 1:
            raise RuntimeError(f"MinMaxMetric: {type(self._base_metric).__name__} has not one value, but {value}")
        nan = value.isnan()
        infinity = float("inf")
        self.max_val = torch.maximum(self.max_val.to(value.device), value.masked_fill(nan, -infinity).reshape(()))
        self.min_val = torch.minimum(self.min_val.to(value.device), value.masked_fill(nan, infinity).reshape(()))
        return {"raw": value, "max": self.max_val, "min": self.min_val}

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


class _OfSeveral(_Wrapper):
    """Copies of one metric, which see different samples."""

    def __init__(self, metric, number, **every):
        super().__init__(metric, **every)
        self.metrics = torch.nn.ModuleList(copy.deepcopy(metric) for _ in range(number))
        self._use(self._made())

    def _made(self):
        return _metrics.Bundle(type(self).__name__, [(f"metrics.{i}", metric._core) for i, metric in enumerate(self.metrics)])

    def reset(self) -> None:
        """Forgets everything seen."""
        for metric in self.metrics:
            metric.reset()
        super().reset()

    def _state_of(self, name):
        module, _, rest = name.partition(".")
        number, _, rest = rest.partition(".")
        if module != "metrics" or number not in self.metrics._modules:
            return None
        state = self.metrics._modules[number]._state_of(rest)
        return state and f"metrics.{number}.{state}"


class BootStrapper(_OfSeveral):
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
        """The samples of one bootstrap."""
        if self.sampling_strategy == "poisson":
            drawn = torch.arange(size).repeat_interleave(torch.poisson(torch.ones(size)).long())
        else:
            drawn = torch.multinomial(torch.ones(size), num_samples=size, replacement=True)
        if device.type in ("cpu", "meta"):
            return drawn.to(device)
        return drawn.pin_memory().to(device, non_blocking=True)  # from pinned memory: nobody waits

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As that of the metric, of inputs [N, ...]; each bootstrap sees samples of its own."""
        first = next((given for given in (*args, *kwargs.values()) if torch.is_tensor(given)), None)
        if first is None:
            raise ValueError("BootStrapper: no input is a tensor, so that nothing can be drawn from it; pass tensors")

        def each():
            for metric in self.metrics:
                drawn = self._draw(len(first), first.device)
                if len(drawn):

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


class MultioutputWrapper(_OfSeveral):
    """A metric of one output for each of several. `compute()` gives their values, [num_outputs, ...].

    Args:
        base_metric: of which each output has a copy.
        num_outputs: how many outputs there are.
        output_dim: the dimension of the inputs that they lie in.
        remove_nans: of each output, samples are left out (the first dimension) where an input is NaN. How many these are has to be
            known: inputs on another device than the CPU are waited for. False: nothing is looked at.
        squeeze_outputs: whether the metric gets its inputs without that dimension, or with it, of size 1.
    """

    def __init__(
        self,
        base_metric: Metric,
        num_outputs: int,
        output_dim: int = -1,
        remove_nans: bool = True,
        squeeze_outputs: bool = True,
    ) -> None:
        if not isinstance(num_outputs, int) or num_outputs < 1:
            raise ValueError(f"MultioutputWrapper: num_outputs is {num_outputs!r}; pass a positive number")
        super().__init__(base_metric, num_outputs)
        self.num_outputs, self.output_dim = num_outputs, output_dim
        self.remove_nans, self.squeeze_outputs = remove_nans, squeeze_outputs

    def _of_output(self, output, inputs):
        """The tensors of `inputs`, by their names, of one output."""
        dim = self.output_dim
        chosen = {name: given.narrow(dim, output, 1) for name, given in inputs.items()}
        if self.remove_nans:
            nan = torch.stack([given.isnan().flatten(1).any(1) for given in chosen.values()]).any(0)
            if nan.any():
                chosen = {name: given[~nan] for name, given in chosen.items()}
        return {name: given.squeeze(dim) for name, given in chosen.items()} if self.squeeze_outputs else chosen

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As that of the metric, of inputs with a dimension for the outputs."""
        given = dict(enumerate(args)) | kwargs
        inputs = {name: value for name, value in given.items() if torch.is_tensor(value)}
        if not inputs:
            raise ValueError("MultioutputWrapper: no input is a tensor, so that there are no outputs; pass tensors")
        for name, value in inputs.items():
            dims = value.dim()
            if dims < 2 or not -dims <= self.output_dim < dims or value.size(self.output_dim) != self.num_outputs:
                raise ValueError(
                    f"MultioutputWrapper: input {name!r} has shape {tuple(value.shape)}; pass samples, and {self.num_outputs} outputs "
                    f"in dimension {self.output_dim}"
                )

        def each():
            for output, metric in enumerate(self.metrics):
                of_one = given | self._of_output(output, inputs)
                metric.update(*(of_one[i] for i in range(len(args))), **{name: of_one[name] for name in kwargs})

        self._core.all_or_nothing(each, self.num_outputs - 1)

    def _value(self) -> Tensor:
        values = [metric.compute() for metric in self.metrics]
        if not torch.is_tensor(values[0]):
            raise RuntimeError(f"MultioutputWrapper: {type(self.metrics[0]).__name__} has several results; pass a metric of one")
        return torch.stack(values)


class Running(_Wrapper):
    """A metric over the last `window` updates. Calling it gives the value of the batch.

    Merged and synchronised ones are of the last updates of each. The states of all updates in the window are kept, the newest
    first, and merged for the value.

    Args:
        base_metric: any metric of devsan.metrics, not a wrapper.
        window: the number of updates.
    """

    def __init__(self, base_metric: Metric, window: int = 5) -> None:
        super().__init__(base_metric)
        if isinstance(base_metric, _Wrapper):
            raise ValueError(f"Running: {type(base_metric).__name__} is a wrapper; pass the metric in it, and wrap this")
        if not isinstance(window, int) or window < 1:
            raise ValueError(f"Running: window is {window!r}; pass a positive number")
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
        self.base_metric.update(*args, **kwargs)
        for older, newer in zip(self._slots[:0:-1], self._slots[-2::-1]):
            older.swap(newer)
        core = self.base_metric._core
        self._slots[0].swap(core)
        core.swap(self._fresh())  # and not reset(): the oldest one may be wanted back
        self._core.updates += 1

    def _value(self) -> Any:
        core, total = self.base_metric._core, self._core.merged()
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
            raise TypeError(f"MultitaskWrapper: task_metrics is {task_metrics!r}; pass a dictionary of metrics by task")
        for task, metric in task_metrics.items():
            if not isinstance(metric, (Metric, MetricCollection)):
                raise TypeError(f"MultitaskWrapper: {task!r} is {metric!r}; pass a devsan.metrics.Metric or MetricCollection")
        self._prefix, self._postfix = self._affix("prefix", prefix), self._affix("postfix", postfix)
        self.task_metrics = torch.nn.ModuleDict(task_metrics)

    @staticmethod
    def _affix(name, given):
        if given is not None and not isinstance(given, str):
            raise ValueError(f"MultitaskWrapper: {name} is {given!r}; pass a string or None")
        return given or ""

    def _named(self, name):
        return f"{self._prefix}{name}{self._postfix}"

    def _together(self, call, task_preds, task_targets):
        """The values of call(metric, preds, target) by task."""
        tasks = self.task_metrics.keys()
        for name, given in (("task_preds", task_preds), ("task_targets", task_targets)):
            if not isinstance(given, dict) or given.keys() != set(tasks):
                found = sorted(given) if isinstance(given, dict) else type(given).__name__
                raise ValueError(f"MultitaskWrapper: {name} has {found}; pass a dictionary of the tasks {sorted(tasks)}")
        values = {}

        def each():
            for task, metric in self.task_metrics.items():
                values[task] = call(metric, task_preds[task], task_targets[task])

        cores = [(task, metric._core) for task, metric in self.task_metrics.items()]
        _metrics.Bundle("MultitaskWrapper", cores).all_or_nothing(each, len(cores) - 1)
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
        copied._prefix, copied._postfix = self._affix("prefix", prefix), self._affix("postfix", postfix)
        return copied


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
            raise TypeError(f"MetricTracker: {metric!r} is no devsan.metrics.Metric or MetricCollection")
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
                raise ValueError("MetricTracker: maximize is a list, but there is one metric; pass a bool")
            if not all(isinstance(better, bool) for better in maximize):
                raise ValueError(f"MetricTracker: maximize is {maximize!r}; pass bools")
            if len(maximize) != len(metric):
                raise ValueError(f"MetricTracker: maximize has {len(maximize)} elements, the collection {len(metric)} metrics")
        elif not isinstance(maximize, bool):
            raise ValueError(f"MetricTracker: maximize is {maximize!r}; pass a bool or a list of them")
        self._base_metric = metric
        self.maximize = maximize

    @property
    def n_steps(self) -> int:
        """How many steps there are."""
        return len(self) - 1  # without the metric that they are copies of

    def _current(self, call):
        if not self.n_steps:
            raise ValueError(f"MetricTracker: {call}() before increment(), so that there is no step")
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
        NaN is not the best of anything else. Waits for the device. None, with a warning, where no value is the best."""
        values = self.compute_all()
        if isinstance(values, list):
            warnings.warn("MetricTracker: results in results have no best; returning None")
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
            worst = float("-inf" if maximize else "inf")
            comparable = values.masked_fill(values.isnan(), worst) if values.is_floating_point() else values
            step = int((torch.argmax if maximize else torch.argmin)(comparable))
            if values.dim() != 1:
                raise RuntimeError(f"a step has a value of shape {tuple(values.shape[1:])}")
            return values[step].item(), step
        except RuntimeError as error:
            warnings.warn(f"MetricTracker: {name} has no best value: {error}; returning None")
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
