"""What wrappers have in common."""

import copy
from typing import Any

import torch

from devsan.metrics import _metrics
from devsan.metrics._metrics import MetricError
from devsan.metrics.metric import Metric, is_metric

_EVERY = ("process_group", "sync_on_compute", "dist_sync_on_step", "compute_with_cache", "distributed_available_fn")


class Wrapper(Metric):
    """A metric made of others. What is said of ranks follows from the metric, unless it is said here."""

    _kind = None
    _update_in_core = None
    _options: dict[str, Any] = {}
    _wrapped = "argument `metric`"  # what errors call it

    def __init__(self, metric, **every):
        torch.nn.Module.__init__(self)
        if not isinstance(metric, Metric):
            raise MetricError(
                f"{type(self).__name__}: Expected {self._wrapped} to be an instance of `torchmetrics.Metric` but got {metric!r}"
                if not is_metric(metric)
                else f"{type(self).__name__}: Expected {self._wrapped} to be one of devsan.metrics, whose states can be merged, but got {metric!r}"
            )
        unknown = set(every) - set(_EVERY)
        if unknown:
            raise TypeError(f"{type(self).__name__}: there is no argument {sorted(unknown)[0]!r}; pass one of {', '.join(_EVERY)}")
        for name in _EVERY:
            setattr(self, name, every.get(name, getattr(metric, name)))
        self.__dict__["higher_is_better"] = metric.higher_is_better
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

    def _check_not_captured(self, inputs, reason):
        if any(torch.is_tensor(given) and given.is_cuda for given in inputs) and torch.cuda.is_current_stream_capturing():
            raise MetricError(
                f"{type(self).__name__}: update() cannot be part of a CUDA graph: {reason}; call it after the replay, with what the graph has computed"
            )

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


class OfOne(Wrapper):
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
        plain = type(self).update is OfOne.update
        return getattr(self, self._inner)._sharer() if plain else None

    def _state_of(self, name):
        inner, _, rest = name.partition(".")
        return getattr(self, inner)._state_of(rest) if inner == self._inner else None


class OfSeveral(Wrapper):
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
