"""The base of every metric in Python: a torch.nn.Module around a metric in C++."""

import copy
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Self  # with PyTorch; `typing` has it from Python 3.11 on

from devsan.metrics._metrics import MetricError
from devsan.metrics._plot import draw

# What a class says of its metrics, which an instance cannot change.
_CONSTANTS = frozenset(
    "is_differentiable higher_is_better full_state_update plot_lower_bound plot_upper_bound plot_legend_name metric_state".split()
)
# What an instance has that is made anew wherever the metric in C++ is.
_OF_THE_CORE = ("_core", "update", "_computed", "_forward_cache", "_collection")


def _tell_torchmetrics():
    """Makes these metrics instances of torchmetrics.Metric, too, once a program has imported that: trainers ask for it."""
    theirs = sys.modules.get("torchmetrics.metric")
    if hasattr(theirs, "Metric") and not issubclass(Metric, theirs.Metric):
        theirs.Metric.register(Metric)


def _aggregated(aggregation, values):
    """One of the values of queries; 0 where there are none."""
    return aggregation(values, dim=0) if len(values) else values.new_zeros(())


def is_metric(given):
    """Whether it is a metric, of devsan.metrics or one that a program has written with TorchMetrics' base class."""
    calls = ("update", "compute", "reset")
    return isinstance(given, torch.nn.Module) and all(callable(getattr(given, call, None)) for call in calls)


def _distributed():
    return torch.distributed.is_available() and torch.distributed.is_initialized()


@functools.cache
def _keywords(update):
    """The names of a function's arguments; None where it takes any."""
    parameters = inspect.signature(update).parameters.values()
    if any(item.kind is item.VAR_KEYWORD for item in parameters):
        return None
    return frozenset(item.name for item in parameters if item.kind is not item.VAR_POSITIONAL)


class Metric(torch.nn.Module):
    """Base class of all metrics. What they share with TorchMetrics' is used in the same way; what differs:

    - The states are made on the device of the first input, unless `to()` named one before. An input on another device is
      an error, see `device_policy`.
    - `compute()` before the first `update()` gives a warning, and the value of no samples, of most metrics 0 or NaN.
    - Values and states carry no autograd graph.
    - States have other names than TorchMetrics', so that checkpoints are not interchangeable.

    Subclasses may override `update()`, `compute()` and the rest, and call those of the class that they derive from.

    Args:
        device_policy: what becomes of an input on another device than the states: an error ("follow"), states for each device
            that are merged when they are looked at ("per_device"), or the states move ("move").
        process_group: for `sync()`; None is the default group.
        sync_on_compute: `compute()` is that of all ranks, wherever torch.distributed is initialised.
        dist_sync_on_step: the value that calling the metric gives is that of all ranks.
        compute_with_cache: `compute()` keeps its value until something changes.
        distributed_available_fn: says whether to synchronise; by default whether torch.distributed is initialised.
    """

    is_differentiable = False
    higher_is_better: bool | None = None
    full_state_update = False
    plot_lower_bound: float | None = None
    plot_upper_bound: float | None = None
    plot_legend_name: str | None = None
    # The states that TorchMetrics' own classes look for: none that they could share or copy.
    _defaults: dict[str, Any] = {}
    # The value of the last batch, which Lightning logs.
    _forward_cache: Any = None
    # In which its states are those of other metrics, too.
    _collection: Callable[[], Any] | None = None

    def __init__(
        self,
        kind,
        options,
        *,
        device_policy="follow",
        process_group=None,
        sync_on_compute=True,
        dist_sync_on_step=False,
        compute_with_cache=True,
        distributed_available_fn=None,
    ):
        super().__init__()
        _tell_torchmetrics()
        self._options = options
        self._device_policy = device_policy
        self.process_group = process_group
        self.sync_on_compute = sync_on_compute
        self.dist_sync_on_step = dist_sync_on_step
        self.compute_with_cache = compute_with_cache
        self.distributed_available_fn = distributed_available_fn
        self._pinned = False
        self._persistent = False
        self._syncs = sync_on_compute
        self._use(self._made())

    def __getattr__(self, name):
        options = self.__dict__.get("_options", {})
        return options[name] if name in options else super().__getattr__(name)

    def __setattr__(self, name, value):
        if name in _CONSTANTS:
            raise RuntimeError(f"{type(self).__name__}: Can't change const `{name}`; it is the same for all metrics of the class")
        super().__setattr__(name, value)

    def __prepare_scriptable__(self):  # which torch.jit.script asks for
        raise MetricError(
            f"{type(self).__name__}: is computed in C++, so that torch.jit.script has nothing to compile; update it outside of what is scripted"
        )

    def _sharer(self):
        """The metric whose states a collection may keep once for several; None where `update()` is not that in C++."""
        return self if type(self).update is type(self)._update_in_core else None

    def _filter_kwargs(self, **kwargs: Any) -> dict[str, Any]:
        """Those that `update()` takes."""
        names = _keywords(type(self).update)
        return kwargs if names is None else {name: value for name, value in kwargs.items() if name in names}

    def _made(self):
        core = self._kind.make(self._options)
        core.set_device_policy(self._device_policy)
        return core

    def _use(self, core):
        """Makes `core` the metric in C++."""
        state = self.__dict__  # nn.Module looks for parameters, buffers and modules in whatever is assigned to it
        state["_core"] = core
        state["_computed"] = None
        # Called directly in C++, unless a subclass overrides it.
        if type(self).update is type(self)._update_in_core:
            state["update"] = core.updater

    # What a metric does.

    def compute(self) -> Any:
        """The value over everything seen since construction or `reset()`; of all ranks, see `sync_on_compute`."""
        core = self._core
        computed = self._computed
        if computed is not None and computed[0] == core.version:
            return computed[1]
        if not core.updates and not core.captured:
            warnings.warn(
                f"The ``compute`` method of metric {type(self).__name__} was called before the ``update`` method: its value is that of no samples",
                stacklevel=2,
            )
        with self.sync_context(should_sync=self._syncs and not core.synced):
            aggregation = self.__dict__.get("aggregation")  # of the values of queries, a function
            if self._kind.by_name:
                values = [core.compute_by_name()]
            else:
                values = core.compute() if aggregation is None else [_aggregated(aggregation, core.query_values())]
        value = values[0] if len(values) == 1 else self._results(*values)
        if self.compute_with_cache:
            self.__dict__["_computed"] = core.version, value
        return value

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Accumulates a batch, and gives its value. The arguments are those of `update()`."""
        with self._of_batch():
            self.update(*args, **kwargs)
            value = self.compute()
        self.update(*args, **kwargs)  # last, so that a batch without a value is not seen
        self.__dict__["_forward_cache"] = value
        return value

    @contextmanager
    def _of_batch(self):
        """While this metric is one that has seen nothing before."""
        core, other = self._core, self._core.fresh()
        core.swap(other)
        self._syncs = self.dist_sync_on_step
        try:
            yield
        finally:
            self._syncs = self.sync_on_compute
            core.swap(other)

    def reset(self) -> None:
        """Forgets everything seen. A metric that shares its states with others of a collection, which are not reset, has its own then."""
        collection = self._collection() if self._collection and self._core.shares else None
        if collection:
            collection._part(self._core)
        self._core.reset()
        self.__dict__["_forward_cache"] = None

    def merge_state(self, incoming_state: "Metric | dict[str, Tensor]") -> None:
        """Adds what another metric of the same class and options has seen, or one whose `metric_state` it is."""
        if isinstance(incoming_state, Metric):
            other = incoming_state._core
        elif isinstance(incoming_state, dict):
            other = self._core.fresh()
            other.load(incoming_state)
        else:
            raise MetricError(
                f"{type(self).__name__}: incoming_state is of type {type(incoming_state).__name__}; pass a metric or its "
                "metric_state"
            )
        self._core.merge(other)
        if isinstance(incoming_state, Metric):
            self._merge_others(incoming_state)

    def _merge_others(self, metric):
        """Adds what of another metric's states is not in its core."""

    def check_valid(self) -> None:
        """Throws (or warns, with nan_strategy="warn") if values were left out because the metric is not defined for them,
        and `update()` has not spoken of it. Waits for the device."""
        self._core.check_valid()

    def plot(self, val: Any = None, ax: Any = None, *, labels: list[str] | None = None) -> tuple[Any, Any]:
        """Draws the value, with matplotlib, and gives the figure and its axes (of [labels, ...] matrices a list of them).

        Args:
            val: a value of `compute()` or of calling the metric, or a list of them, one for each step; by default that of `compute()`.
            ax: axes to draw on; by default a new figure's.
            labels: of the classes, in their order; by default their indices.
        """
        return draw(type(self).__name__, self.compute() if val is None else val, ax, labels)

    @property
    def dtype(self) -> torch.dtype:
        """Of the values, where they are real numbers."""
        return self._options.get("dtype") or torch.float32

    @property
    def update_count(self) -> int:
        """How often `update()` was called since construction or `reset()`."""
        return self._core.updates

    @property
    def update_called(self) -> bool:
        return self._core.updates > 0

    @property
    def metric_state(self) -> dict[str, Tensor]:
        """The states by name; empty before the first `update()`. The tensors are the metric's own: do not write to them."""
        return self._core.states()

    # Ranks.

    def sync(
        self,
        *,
        process_group: "torch.distributed.ProcessGroup | None" = None,
        should_sync: bool = True,
        distributed_available: Callable[[], bool] | None = None,
    ) -> None:
        """Replaces the states by those of all ranks of the group together; every rank must call it.

        Does nothing where torch.distributed is not initialised. Until `unsync()`, `update()`, `merge_state()` and `sync()`
        are errors.
        """
        self._sync_core(
            self._core, process_group=process_group, should_sync=should_sync, distributed_available=distributed_available
        )

    def _sync_core(self, core, process_group=None, should_sync=True, distributed_available=None):
        """`sync()` of what this metric is a part of."""
        available = distributed_available or self.distributed_available_fn or _distributed
        if should_sync and available():
            core.sync(process_group or self.process_group or torch.distributed.group.WORLD)

    def unsync(self, should_unsync: bool = True) -> None:
        """Brings back this rank's own states after `sync()`."""
        if should_unsync:
            self._core.unsync()

    @contextmanager
    def sync_context(
        self,
        *,
        process_group: "torch.distributed.ProcessGroup | None" = None,
        should_sync: bool = True,
        should_unsync: bool = True,
        distributed_available: Callable[[], bool] | None = None,
    ) -> Iterator[None]:
        """`sync()`, and in the end `unsync()` if it did something."""
        before = self._core.synced
        self.sync(
            process_group=process_group, should_sync=should_sync, distributed_available=distributed_available
        )
        try:
            yield
        finally:
            if should_unsync and self._core.synced and not before:
                self._core.unsync()

    # Devices, as a module.

    @property
    def device(self) -> torch.device | None:
        """Where the states lie, or will lie; None before the first `update()` of a metric that was not moved."""
        return self._core.device

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves the states, and keeps the metric on that device, also before the first `update()`. Dtypes are ignored."""
        device = torch._C._nn._parse_to(*args, **kwargs)[0]
        super().to(*args, **kwargs)
        if device is not None:
            self._move(device)
        return self

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        # What a function of tensors does to devices: nn.Module has no other way to tell.
        here = self._core.device or torch.device("cpu")
        there = fn(torch.empty(0, device=here)).device
        if there != here:
            self._move(there)
        return self

    def _move(self, device):
        self._core.to(device)
        self._pinned = True

    # Checkpoints, copies.

    def persistent(self, mode: bool = False) -> None:
        """Whether the states are part of `state_dict()`, also of a module that holds the metric; at first they are not."""
        self._persistent = mode

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self._persistent:
            for name, state in self._core.states().items():
                destination[prefix + name] = state.clone()

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        names = [name[len(prefix) :] for name in state_dict if name.startswith(prefix)]
        own = {self._own_state(name): state_dict.pop(prefix + name) for name in names if self._own_state(name)}
        if own:
            try:
                self._core.load({name: self._here(name, state) for name, state in own.items()})
            except (RuntimeError, TypeError) as error:
                error_msgs.append(str(error))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _own_state(self, name):
        """The name here of what has this name in a checkpoint; None of what is no state, or that of a metric in this one."""
        others = {*self._parameters, *self._buffers, "_extra_state"}  # of a class that derives from this one
        return name if "." not in name and name not in others else None

    def _state_of(self, name):
        """The same of states of metrics in this one, too, by their names in the core."""
        return self._own_state(name)

    def _here(self, name, state):
        """On the metric's device, to which nn.Module moves what it loads, too."""
        device = self._core.device
        if device is None or not torch.is_tensor(state):
            return state
        if state.is_meta and device.type != "meta":
            raise RuntimeError(
                f"{type(self).__name__}: state `{name}` is a meta tensor, which has no values to move to {device}"
                "; load a checkpoint that was saved with values"
            )
        return state.to(device)

    def clone(self) -> Self:
        """A copy with states of its own."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo):
        memo[id(self.process_group)] = self.process_group  # of the process, not of the metric
        copied = memo[id(self)] = type(self).__new__(type(self))
        copied.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return copied

    def __getstate__(self):
        if self._core.synced:
            raise RuntimeError(f"{type(self).__name__}: a synchronised metric cannot be copied; call unsync() first")
        state = {name: value for name, value in self.__dict__.items() if name not in _OF_THE_CORE}
        # A tensor for the device, so that torch.load() can map it to another one.
        device = torch.empty(0, device=self._core.device) if self._pinned else None
        state["_saved"] = self._core.states(), self._core.updates, device
        return state

    def __setstate__(self, state):
        state = dict(state)
        states, updates, device = state.pop("_saved")
        super().__setstate__(state)
        self._use(self._made())
        if states:
            self._core.load(states)
        if device is not None:
            self._core.to(device.device)
        self._core.updates = updates

    def extra_repr(self):
        return ", ".join(f"{name}={value!r}" for name, value in self._options.items() if value != self._option_defaults.get(name))


_tell_torchmetrics()
