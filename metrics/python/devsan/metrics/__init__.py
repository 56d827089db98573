"""Metrics that are right on every device and never wait for it in `update()`, with TorchMetrics' names and arguments.

    from devsan.metrics import MulticlassAccuracy

    accuracy = MulticlassAccuracy(num_classes=10, average="micro")
    for inputs, target in batches:
        accuracy.update(model(inputs), target)
    print(accuracy.compute())

A metric is a torch.nn.Module, so that it moves with the module that holds it, is copied and pickled. What differs from
TorchMetrics is said in `Metric`, and where an argument differs, there. `MetricCollection` is for several at once; metrics made of
metrics are in devsan.metrics.wrappers, functional forms in devsan.metrics.functional. `Checked` says where a metric of another
library waits for the device.
"""

from devsan.metrics._catalog import DOMAINS as _DOMAINS
from devsan.metrics._catalog import catalog as _catalog
from devsan.metrics._metrics import MetricError
from devsan.metrics.checked import Checked
from devsan.metrics.collections import MetricCollection
from devsan.metrics.metric import Metric
from devsan.metrics.wrappers import *  # noqa: F403
from devsan.metrics.wrappers import __all__ as _wrappers

_modules = _catalog()
__all__ = ["Checked", "Metric", "MetricCollection", "MetricError", *_wrappers]
for _name in _DOMAINS:
    globals().update(_modules[_name])
    __all__ += _modules[_name]

from devsan.metrics import (  # noqa: E402
    aggregation,
    classification,
    detection,
    functional,
    image,
    regression,
    retrieval,
    segmentation,
    text,
    wrappers,
)
