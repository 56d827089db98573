"""Metrics made of metrics, with TorchMetrics' names, arguments and results."""

from devsan.metrics.wrappers.bootstrapping import BootStrapper
from devsan.metrics.wrappers.classwise import ClasswiseWrapper
from devsan.metrics.wrappers.minmax import MinMaxMetric
from devsan.metrics.wrappers.multioutput import MultioutputWrapper
from devsan.metrics.wrappers.multitask import MultitaskWrapper
from devsan.metrics.wrappers.running import Running
from devsan.metrics.wrappers.tracker import MetricTracker

__all__ = [
    "BootStrapper",
    "ClasswiseWrapper",
    "MetricTracker",
    "MinMaxMetric",
    "MultioutputWrapper",
    "MultitaskWrapper",
    "Running",
]
