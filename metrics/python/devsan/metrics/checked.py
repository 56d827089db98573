"""A metric of another library, watched: where it waits for the device, and where it changes the device."""

import collections
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from devsan.metrics._metrics import MetricError
from devsan.metrics.metric import Metric, is_metric

_VALUES_NEEDED = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_PUTS = (torch.ops.aten.index_put_, torch.ops.aten.index_put, torch.ops.aten._index_put_impl_)
_LIBRARIES = ("torch", "devsan", "torchmetrics.metric", "torchmetrics.utilities", "contextlib")


class Finding(NamedTuple):
    """What a metric did at one place: `what` is 'wait' or 'device', `call` the method, `why` an operator or both devices."""

    what: str
    call: str
    place: str
    why: str

    def __str__(self) -> str:
        does = "waits for the device in" if self.what == "wait" else "changes the device:"
        return f"{self.call}() {does} {self.why} at {self.place}"


def _place():
    """Where a program or a metric has called, not what it has called."""
    frame = sys._getframe(2)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if not any(module == name or module.startswith(name + ".") for name in _LIBRARIES):
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _has_mask(indices):
    return any(torch.is_tensor(index) and index.dtype in (torch.bool, torch.uint8) for index in indices)


def _needs_values(operator, arguments, options):
    """Whether the host has to know values to go on: a number, or the size of a result. PyTorch says it of each operator."""
    if operator is torch.ops.aten.index.Tensor:
        return _has_mask(arguments[1])
    if operator.overloadpacket in _PUTS:  # of one number that the host has, it is masked_fill()
        values, accumulates = arguments[2], any(arguments[3:4])
        return _has_mask(arguments[1]) and (accumulates or values.numel() != 1 or values.device.type != "cpu")
    if operator.overloadpacket is torch.ops.aten.repeat_interleave:
        return operator is not torch.ops.aten.repeat_interleave.self_int and options.get("output_size") is None
    return bool(_VALUES_NEEDED.intersection(operator.tags))


class _Watch(TorchDispatchMode):
    def __init__(self, found):
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = operator(*args, **kwargs)
        before, after = self._devices((args, kwargs)), self._devices(result)
        if _needs_values(operator, args, kwargs) and "meta" not in {device.type for device in before}:
            self.found("wait", str(operator.overloadpacket), _place())
        moves = {device.type for device in before | after}
        if len(moves) > 1 and operator.overloadpacket in (torch.ops.aten._to_copy, torch.ops.aten.copy_):
            self.found("device", f"{', '.join(sorted(map(str, before)))} to {', '.join(sorted(map(str, after)))} in {operator.overloadpacket}", _place())
        return result

    @staticmethod
    def _devices(values):
        return {value.device for value in tree_leaves(values) if torch.is_tensor(value)}


class Checked(torch.nn.Module):
    """Any metric with TorchMetrics' interface, such as a `torchmetrics.Metric` of another library or of a program's own, which
    says where it waits for the device and where it, or a copy, changes the device. It has the metric's attributes, values and
    errors, and fits wherever the metric does: in a `MetricCollection`, in a `LightningModule`.

    A wait is an operator that needs values on the host (`item()`, `if tensor:`, a mask as index, `unique()`): on the CPU it costs
    nothing, and is reported all the same, since it would be one on a GPU. Watching makes each operator slower: use it in a test, or
    for the first batches, and take `checked.metric` afterwards. What C++ does without operators of PyTorch is not seen; for all of a
    program there is `devsan run`.

    Args:
        metric: what is wrapped.
        report: what becomes of something new: a warning ("warn"), a `MetricError` after the call ("error"), or an entry of
            `findings` alone ("silent").
        calls: the methods that are watched; of `compute()` a wait is often what its caller wants.
    """

    def __init__(self, metric: Any, report: str = "warn", calls: tuple[str, ...] = ("update", "forward")):
        super().__init__()
        if not is_metric(metric):
            raise MetricError(f"Checked: Expected argument `metric` to have update(), compute() and reset(), but got {metric!r}")
        if report not in ("warn", "error", "silent"):
            raise MetricError(f"Checked: Expected argument `report` to be 'warn', 'error' or 'silent', but got {report!r}")
        unknown = set(calls) - {"update", "forward", "compute"}
        if unknown:
            raise MetricError(f"Checked: Expected argument `calls` to hold 'update', 'forward' and 'compute', but got {sorted(unknown)[0]!r}")
        self.metric = metric
        self.report, self.calls = report, tuple(calls)
        self._found: collections.Counter[Finding] = collections.Counter()
        theirs = sys.modules.get("torchmetrics.metric")
        if hasattr(theirs, "Metric") and not issubclass(Checked, theirs.Metric):
            theirs.Metric.register(Checked)

    @property
    def findings(self) -> dict[Finding, int]:
        """What was found, and how often."""
        return dict(self._found)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("metric"), name)

    def update(self, *args: Any, **kwargs: Any) -> None:
        with self._watched("update", (args, kwargs)):
            self.metric.update(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with self._watched("forward", (args, kwargs)):
            return self.metric(*args, **kwargs)

    def compute(self) -> Any:
        with self._watched("compute", ()):
            return self.metric.compute()

    def reset(self) -> None:
        self.metric.reset()

    @contextmanager
    def _watched(self, call: str, inputs: Any) -> Iterator[None]:
        if call not in self.calls:
            yield
            return
        new = []

        def found(what, why, place):
            finding = Finding(what, f"{type(self.metric).__name__}.{call}", place, why)
            if finding not in self._found:
                new.append(finding)
            self._found[finding] += 1

        given = {value.device for value in tree_leaves(inputs) if torch.is_tensor(value)}
        with _Watch(found):
            yield
        if len(given) == 1:
            for name, devices in self._states().items():
                if devices - given:
                    found("device", f"its state `{name}` lies on {sorted(map(str, devices))[0]}, but the inputs on {given.copy().pop()}", type(self.metric).__module__)
        if new and self.report == "error":
            raise MetricError("; ".join(map(str, new)))
        for finding in new if self.report == "warn" else ():
            warnings.warn(str(finding), UserWarning, stacklevel=4)

    def _states(self):
        """The devices of each state: those of add_state(), or of a metric of devsan.metrics."""
        if isinstance(self.metric, Metric):
            states = self.metric.metric_state
        else:
            states = {name: getattr(self.metric, name) for name in getattr(self.metric, "_defaults", {})}
        return {name: {value.device for value in tree_leaves(state) if torch.is_tensor(value)} for name, state in states.items()}
