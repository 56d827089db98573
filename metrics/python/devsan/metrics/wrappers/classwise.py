"""Values by the names of classes."""

import torch
from torch import Tensor

from devsan.metrics.metric import Metric
from devsan.metrics.wrappers._wrapper import OfOne


class ClasswiseWrapper(OfOne):
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
            raise ValueError(f"ClasswiseWrapper: Expected argument `labels` to either be `None` or a list of strings but got {labels!r}")
        for name, given in (("prefix", prefix), ("postfix", postfix)):
            if given is not None and not isinstance(given, str):
                raise ValueError(f"ClasswiseWrapper: Expected argument `{name}` to either be `None` or a string but got {given!r}")
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
