"""Metrics of the same inputs as one."""

import copy
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from typing_extensions import Self

from devsan.metrics import _metrics
from devsan.metrics._plot import axes_of, draw
from devsan.metrics.metric import Metric, is_metric


def _known(metric, kwargs):
    """Of keyword arguments those that a metric takes."""
    return metric._filter_kwargs(**kwargs) if kwargs and hasattr(metric, "_filter_kwargs") else kwargs


def _named(name, prefix, postfix):
    return (prefix or "") + name + (postfix or "")


class MetricCollection(torch.nn.ModuleDict):
    """Metrics that are updated together, with TorchMetrics' arguments and results.

        metrics = MetricCollection(MulticlassAccuracy(10), MulticlassF1Score(10), prefix="val_")
        metrics.update(preds, target)
        metrics.compute()["val_MulticlassF1Score"]

    What differs:

    - Which metrics share states follows from their classes and options when they are added, and no value is compared. It holds
      for `metrics(preds, target)`, too.
    - Metrics of others, such as a program's own torchmetrics.Metric, may be among them. They synchronise by themselves, and keep
      a batch that a metric after them could not take.
    - A metric that shares its states cannot be updated, merged or reset alone, which is an error; a `clone()` of it can.
    - Where a metric cannot take a batch, none has seen it.
    - In `compute()` all states are exchanged by the ranks in one go, if all metrics have the same `process_group`,
      `sync_on_compute` and `distributed_available_fn`.

    Args:
        metrics: a metric, a collection, or several in a sequence, whose names are those of their classes, or in a dictionary, of which
            the names are sorted. The metrics of a collection in it are taken out of that.
        additional_metrics: the same, behind a sequence.
        prefix: before each name in the results.
        postfix: after each.
        compute_groups: whether metrics share states, or the lists of names of those that do.
    """

    _parted = False  # see _part()
    _resets = False  # all of them, at the moment

    def __init__(
        self,
        metrics: "Metric | MetricCollection | Sequence[Metric | MetricCollection] | dict[str, Metric | MetricCollection]",
        *additional_metrics: "Metric | MetricCollection",
        prefix: str | None = None,
        postfix: str | None = None,
        compute_groups: bool | list[list[str]] = True,
    ) -> None:
        super().__init__()
        self.prefix = self._check_arg(prefix, "prefix")
        self.postfix = self._check_arg(postfix, "postfix")
        self._enable_compute_groups = compute_groups
        self._nested = {}  # of a metric that came in a collection: its prefix and postfix
        self._groups = []
        self.add_metrics(metrics, *additional_metrics)

    @staticmethod
    def _check_arg(arg: str | None, name: str) -> str | None:
        if arg is None or isinstance(arg, str):
            return arg
        raise ValueError(f"MetricCollection: Expected input `{name}` to be a string, but got {type(arg)}")

    # What it is made of.

    def add_metrics(
        self,
        metrics: "Metric | MetricCollection | Sequence[Metric | MetricCollection] | dict[str, Metric | MetricCollection]",
        *additional_metrics: "Metric | MetricCollection",
    ) -> None:
        """Adds metrics. They share states with others unless one of them has seen something."""
        if isinstance(metrics, dict):
            if additional_metrics:
                raise ValueError("MetricCollection: there are metrics besides a dictionary; pass all of them in it")
            given = [(name, metrics[name]) for name in sorted(metrics)]
        elif isinstance(metrics, MetricCollection) or is_metric(metrics):
            given = [(None, metric) for metric in (metrics, *self._metrics_of(additional_metrics))]
        elif isinstance(metrics, Sequence):
            given = [(None, metric) for metric in (*metrics, *self._metrics_of(additional_metrics))]
        else:
            raise ValueError(
                f"MetricCollection: Unknown input to MetricCollection. Expected a metric, a sequence or a dictionary of them, but got {metrics!r}"
            )
        added, sources = {}, []
        alone = len(given) == 1 and isinstance(metrics, MetricCollection)

        def add(name, metric, nested=None):
            if "." in name or not name:
                raise ValueError(f"MetricCollection: {name!r} is no name of a metric; pass one without dots")
            if name in self._modules:
                raise ValueError(f"MetricCollection: Metric with name {name!r} already exists in the collection.")
            if name in added:
                raise ValueError(
                    f"MetricCollection: Encountered two metrics both named {name}; pass a dictionary with a name for each"
                )
            added[name] = metric, nested

        for name, metric in given:
            if isinstance(metric, MetricCollection):
                sources.append(metric)
                for key, part in metric.items():
                    add(key if name is None else f"{name}_{key}", part, None if alone else (metric.prefix, metric.postfix))
            elif is_metric(metric):
                add(type(metric).__name__ if name is None else name, metric)
            else:
                which = f"Input {metric!r} to `MetricCollection`" if name is None else f"Value {metric!r} belonging to key {name}"
                verb = "is not a instance of" if name is None else "is not an instance of"
                raise ValueError(f"MetricCollection: {which} {verb} a metric or a MetricCollection")
        for source in sources:
            source._release()
        for name, (metric, _) in added.items():
            sharer = metric._sharer() if isinstance(metric, Metric) else None
            if sharer is not None and sharer._core.shares:
                raise ValueError(
                    f"MetricCollection: {name!r} shares states in another collection; pass a clone(), or that collection"
                )
        for name, (metric, nested) in added.items():
            super().__setitem__(name, metric)
            if nested:
                self._nested[name] = nested
        self._regroup()

    @staticmethod
    def _metrics_of(given):
        """Those of further arguments; TorchMetrics ignores others, too."""
        others = [metric for metric in given if not isinstance(metric, MetricCollection) and not is_metric(metric)]
        if others:
            warnings.warn(f"MetricCollection: there are {others} which are not `Metric` so they will be ignored.", stacklevel=4)
        return [metric for metric in given if not any(metric is other for other in others)]

    def _own(self):
        """The metrics of devsan.metrics by name."""
        return {name: metric for name, metric in self._modules.items() if isinstance(metric, Metric)}

    def _others(self):
        return {name: metric for name, metric in self._modules.items() if not isinstance(metric, Metric)}

    def __setitem__(self, key: str, module: Metric) -> None:
        if not is_metric(module):
            raise ValueError(f"MetricCollection: {module!r} is not an instance of a metric")
        self._release()
        super().__setitem__(key, module)
        self._regroup()

    def __delitem__(self, key: str) -> None:
        self._release()
        self._nested.pop(key, None)
        super().__delitem__(key)
        self._regroup()

    def pop(self, key: str) -> Metric:
        metric = self._modules[self._base(key)]
        del self[self._base(key)]
        return metric

    def clear(self) -> None:
        self._release()
        self._nested.clear()
        super().clear()
        self._regroup()

    def _release(self):
        """Gives each metric states of its own."""
        for names in self._groups:
            for name in names[1:]:
                if name in self._modules:
                    self._modules[name]._sharer()._core.leave()
        self._groups = [[name] for name in self._modules]

    def _part(self, core):
        """A metric that shares states is reset by itself, as trainers reset each that was logged."""
        if not self._resets:
            core.leave()
            self.__dict__["_parted"] = True

    def _settle(self):
        """Before an update of metrics of which some were reset by themselves: all share states again as soon as none has any."""
        if not self._parted:
            return
        if any(metric._core.states() for metric in self._own().values()):
            self._release()
            self._join()
        else:
            self._regroup()
            self.__dict__["_parted"] = False

    def _regroup(self):
        """Finds out which metrics share states."""
        self._release()
        chosen = self._enable_compute_groups
        allowed = None
        if isinstance(chosen, list):
            allowed = {name: place for place, names in enumerate(chosen) for name in names}
            for name in allowed:
                if name not in self._modules:
                    raise ValueError(
                        f"MetricCollection: Input {name} in `compute_groups` argument does not match a metric in the collection, {list(self._modules)}"
                    )
        groups = {}
        self._had_states = False
        for name, metric in self._modules.items():
            key = self._group_key(metric) if chosen else ""
            if allowed is not None and name in allowed:
                first = groups.get(("chosen", allowed[name]))
                if first is not None and (not key or key != self._group_key(self._modules[first[0]])):
                    raise ValueError(
                        f"MetricCollection: {name!r} and {first[0]!r} stand in one of compute_groups, but hold different states, or "
                        "have seen something already"
                    )
                key = "chosen", allowed[name]
            elif allowed is not None or not key:
                key = "alone", name
            groups.setdefault(key, []).append(name)
        self._groups = list(groups.values())
        self._join()

    def _group_key(self, metric):
        sharer = metric._sharer() if isinstance(metric, Metric) else None
        if sharer is None:
            return ""
        if sharer._core.states():
            self._had_states = True
            return ""
        return sharer._core.state_signature

    def _join(self):
        for first, *others in self._groups:
            for name in others:
                self._modules[name]._sharer()._core.join(self._modules[first]._sharer()._core)
            for name in (first, *others) if others else ():
                self._modules[name]._sharer().__dict__["_collection"] = weakref.ref(self)
        state = self.__dict__
        state["_computed"] = None
        state["_syncs"] = True
        own = self._own()
        state["_updated"] = []
        state["_core"] = None
        if not own:
            return
        state["_core"] = _metrics.Bundle("MetricCollection", [(name, metric._core) for name, metric in own.items()])
        # The one of most states last, which can change them in place.
        firsts = sorted((names[0] for names in self._groups if names[0] in own), key=lambda name: own[name]._core.largest_state)
        state["_updated"] = firsts
        state["_last"] = list(own).index(firsts[-1])

    @property
    def compute_groups(self) -> dict[int, list[str]]:
        """The names of the metrics that share states; empty where none may."""
        self._settle()
        return dict(enumerate(self._groups)) if self._enable_compute_groups else {}

    def _name(self, base):
        return _named(base, self.prefix, self.postfix)

    def _base(self, key):
        if key in self._modules:
            return key
        return key.removeprefix(self.prefix or "").removesuffix(self.postfix or "")

    # As a dictionary, with the names of the results.

    def keys(self, keep_base: bool = False) -> Iterable[str]:
        """The names; with `keep_base` without prefix and postfix."""
        return list(self._modules) if keep_base else [self._name(name) for name in self._modules]

    def values(self, copy_state: bool = True) -> Iterable[Metric]:
        """The metrics themselves; `copy_state` has no effect."""
        return self._modules.values()

    def items(self, keep_base: bool = False, copy_state: bool = True) -> Iterable[tuple[str, Metric]]:
        return zip(self.keys(keep_base), self._modules.values())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: str) -> bool:
        return key in self._modules or self._base(key) in self._modules

    def __getitem__(self, key: str) -> Metric:
        return self._modules[self._base(key)]

    # What metrics do.

    def update(self, *args: Any, **kwargs: Any) -> None:
        """A batch for all metrics; of keyword arguments each takes those that it knows."""
        if self._core is not None:
            self._settle()
            self._update_own(*args, **kwargs)
        for metric in self._others().values():
            metric.update(*args, **_known(metric, kwargs))

    def _update_own(self, *args, **kwargs):
        modules = self._modules

        def each():
            for name in self._updated:
                metric = modules[name]
                metric.update(*args, **_known(metric, kwargs))

        self._core.all_or_nothing(each, self._last)

    def compute(self) -> dict[str, Any]:
        """The value of each metric by its name. Where that is a dictionary, its own names, behind that of the metric if two are
        the same."""
        core, own = self._core, self._own()
        if core is None:
            return self._flat({name: metric.compute() for name, metric in self._modules.items()})
        computed = self._computed
        if computed is not None and computed[0] == core.version:
            return dict(computed[1])
        alike = self._alike()
        with self.sync_context(should_sync=self._syncs) if alike and alike.sync_on_compute else nullcontext():
            values = {name: metric.compute() for name, metric in own.items()}
        results = self._flat({name: values[name] if name in own else metric.compute() for name, metric in self._modules.items()})
        if len(own) == len(self._modules) and all(metric.compute_with_cache for metric in own.values()):
            self.__dict__["_computed"] = core.version, results
        return dict(results)

    def forward(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Accumulates a batch, and gives its values."""
        values = self._of_batch(*args, **kwargs) if self._core is not None else {}
        values |= {name: metric(*args, **_known(metric, kwargs)) for name, metric in self._others().items()}
        return self._flat({name: values[name] for name in self._modules})

    def _of_batch(self, *args, **kwargs):
        """The batch's values of the metrics of devsan.metrics, which accumulate it."""
        self._settle()
        core, other = self._core, self._core.fresh()
        core.swap(other)
        metrics = list(self._own().values())
        self._syncs = all(metric.dist_sync_on_step for metric in metrics)
        for metric in metrics:
            metric._syncs = metric.dist_sync_on_step
        try:
            self._update_own(*args, **kwargs)
            alike = self._alike()
            with self.sync_context(should_sync=self._syncs) if alike and alike.sync_on_compute else nullcontext():
                values = {name: metric.compute() for name, metric in self._own().items()}
        finally:
            self._syncs = True
            for metric in metrics:
                metric._syncs = metric.sync_on_compute
            core.swap(other)
        self._update_own(*args, **kwargs)
        for name, value in values.items():
            self._modules[name].__dict__["_forward_cache"] = value
        return values

    def _flat(self, values):
        names = [key for name, value in values.items() for key in (value if isinstance(value, dict) else [name])]
        clash = len(set(names)) < len(names)
        results = {}
        for name, value in values.items():
            if not isinstance(value, dict):
                results[self._name(name)] = value
                continue
            prefix, postfix = self._nested.get(name, (None, None))
            own = name.removeprefix(prefix or "").removesuffix(postfix or "")
            for key, result in value.items():
                results[self._name(_named(f"{own}_{key}" if clash else key, prefix, postfix))] = result
        return results

    def reset(self) -> None:
        """Forgets everything seen."""
        for metric in self._others().values():
            metric.reset()
        if self._core is None:
            return

        def each():
            for metric in self._own().values():
                metric.reset()

        self.__dict__["_resets"] = True
        try:
            self._core.all_or_nothing(each, self._last)
        finally:
            self.__dict__["_resets"] = False
        if self._had_states:
            self._regroup()

    def merge_state(self, incoming_state: "MetricCollection") -> None:
        """Adds what another collection of the same metrics has seen, whether or not either shares states."""
        if not isinstance(incoming_state, MetricCollection):
            raise TypeError(f"MetricCollection: incoming_state is of type {type(incoming_state).__name__}; pass a collection")
        if self._core is not None:
            self._core.merge(incoming_state._core)
            for name, metric in self._own().items():
                metric._merge_others(incoming_state[name])
        for name, metric in self._others().items():
            metric.merge_state(incoming_state[name])

    def plot(self, val: Any = None, ax: Any = None, together: bool = False) -> Any:
        """Draws the value of each metric on axes of its own, or of all `together`; gives figure and axes, of each metric or once.

        Args:
            val: what `compute()` or calling the collection gives, or a list of them, one for each step; by default that of `compute()`.
            ax: axes to draw on, of each metric one in a sequence unless `together`; by default new figures'.
            together: whether all metrics have the same axes.
        """
        val = self.compute() if val is None else val
        if together:
            return draw("", val, ax)
        names = val[0] if isinstance(val, (list, tuple)) else val
        axes = [None] * len(names) if ax is None else axes_of(ax)
        if len(axes) != len(names):
            raise ValueError(f"MetricCollection: ax has {len(axes)} axes; pass one for each of {', '.join(names)}")
        return [
            draw(name, [step[name] for step in val] if names is not val else val[name], axis) for name, axis in zip(names, axes)
        ]

    @property
    def metric_state(self) -> dict[str, dict[str, torch.Tensor]]:
        """The states of each metric by its name."""
        return {name: metric.metric_state for name, metric in self.items()}

    # Ranks.

    def _alike(self):
        """A metric, if all are synchronised in the same way."""
        if self._core is None:
            return None
        first, *others = self._own().values()
        alike = all(
            metric.process_group is first.process_group
            and metric.sync_on_compute == first.sync_on_compute
            and metric.distributed_available_fn is first.distributed_available_fn
            for metric in others
        )
        return first if alike else None

    def sync(self, **kwargs: Any) -> None:
        """As a metric's, of all states in one exchange."""
        for metric in self._own().values():
            metric._sync_core(self._core, **kwargs)
            break

    def unsync(self, should_unsync: bool = True) -> None:
        """Brings back this rank's own states after `sync()`."""
        if should_unsync:
            self._core.unsync()

    @contextmanager
    def sync_context(self, *, should_sync: bool = True, should_unsync: bool = True, **kwargs: Any) -> Iterator[None]:
        """`sync()`, and in the end `unsync()` if it did something."""
        before = self._core.synced
        if not before:
            self.sync(should_sync=should_sync, **kwargs)
        try:
            yield
        finally:
            if should_unsync and self._core.synced and not before:
                self._core.unsync()

    # Copies, checkpoints.

    __prepare_scriptable__ = Metric.__prepare_scriptable__

    def clone(self, prefix: str | None = None, postfix: str | None = None) -> Self:
        """A copy with states of its own, and other names in the results where they are given."""
        copied = copy.deepcopy(self)
        if prefix:
            copied.prefix = self._check_arg(prefix, "prefix")
        if postfix:
            copied.postfix = self._check_arg(postfix, "postfix")
        return copied

    def persistent(self, mode: bool = True) -> None:
        """Whether the states are part of `state_dict()`; at first they are not."""
        for metric in self._modules.values():
            metric.persistent(mode)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        # All at once, since metrics that share states have to find the same ones.
        own = self._own()
        states = {name: {} for name in own}
        for key in [key for key in state_dict if key.startswith(prefix)]:
            name, _, rest = key[len(prefix) :].partition(".")
            state = own[name]._state_of(rest) if name in own else None
            if state:
                states[name][state] = state_dict.pop(key)
        if any(states.values()):
            for names in (names for names in self._groups if names[0] in own):
                found = next((states[name] for name in names if states[name]), None)
                for name in names:
                    states[name] = states[name] or found or self._modules[name]._core.states()
            try:
                self._core.load(
                    {
                        f"{name}.{state}": self._modules[name]._here(state, value)
                        for name in states
                        for state, value in states[name].items()
                    }
                )
            except (RuntimeError, TypeError) as error:
                args[-1].append(str(error))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def __getstate__(self):
        if self._core is not None and self._core.synced:
            raise RuntimeError("MetricCollection: a synchronised collection cannot be copied; call unsync() first")
        return {name: value for name, value in self.__dict__.items() if name not in ("_core", "_computed")}

    def __setstate__(self, state):
        super().__setstate__(state)
        self._join()

    def __repr__(self) -> str:
        lines = super().__repr__().removesuffix("\n)")
        return lines + "".join(f",\n  {name}={getattr(self, name)}" for name in ("prefix", "postfix") if getattr(self, name)) + "\n)"
