"""What plot() draws, as lines, texts and images of matplotlib."""

import sys

import pytest
import torch

import devsan.metrics
from common import CLASSES, batch


def test_matplotlib_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    metric = devsan.metrics.MeanMetric()
    metric.update(torch.ones(2))
    with pytest.raises(ModuleNotFoundError, match="pip install matplotlib"):
        metric.plot()


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib", reason="pip install matplotlib to test what plot() draws")
    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def seen(name, seed=0, **given):
    metric = getattr(devsan.metrics, name)(**given)
    metric.update(*batch(name, 30, torch.Generator().manual_seed(seed)))
    return metric


def lines(axis):
    return [(line.get_xdata().tolist() if hasattr(line.get_xdata(), "tolist") else list(line.get_xdata()), list(line.get_ydata()), line.get_label()) for line in axis.lines]


def test_numbers_are_points_and_steps_are_lines(pyplot):
    one = seen("BinaryAccuracy")
    figure, axis = one.plot()
    assert axis.figure is figure and axis.get_ylabel() == "BinaryAccuracy"
    assert [y for _, y, _ in lines(axis)] == [[one.compute().item()]]

    recall = seen("MulticlassRecall", num_classes=CLASSES, average=None)
    labels = list("abcde")
    _, axis = recall.plot(labels=labels)
    assert [(y, label) for _, y, label in lines(axis)] == [([value], label) for value, label in zip(recall.compute().tolist(), labels)]

    given, own = pyplot.subplots()
    steps = [torch.tensor(0.5), torch.tensor(0.75), torch.tensor(1.0)]
    assert one.plot(steps, own) == (given, own)
    assert lines(own)[0][:2] == ([0, 1, 2], [0.5, 0.75, 1.0])


def test_curves_have_their_axes(pyplot):
    for name, across, up in (("ROC", "fpr", "tpr"), ("PrecisionRecallCurve", "recall", "precision")):
        for thresholds in (7, None):
            metric = seen("Binary" + name, thresholds=thresholds)
            _, axis = metric.plot()
            assert (axis.get_xlabel(), axis.get_ylabel()) == (across, up)
            assert lines(axis)[0][1] == getattr(metric.compute(), up).tolist()
            metric = seen("Multiclass" + name, num_classes=CLASSES, thresholds=thresholds)
            _, axis = metric.plot()
            assert [x for x, _, _ in lines(axis)] == [curve.tolist() for curve in getattr(metric.compute(), across)]
    point = seen("BinaryRecallAtFixedPrecision", min_precision=0.5)
    _, axis = point.plot()
    assert [label for _, _, label in lines(axis)] == ["recall", "threshold"]


def test_matrices_are_images(pyplot):
    metric = seen("MulticlassConfusionMatrix", num_classes=CLASSES)
    _, axis = metric.plot(labels=list("abcde"))
    assert axis.images[0].get_array().tolist() == metric.compute().tolist()
    assert [text.get_text() for text in axis.texts] == [str(count) for count in metric.compute().flatten().tolist()]
    assert [tick.get_text() for tick in axis.get_xticklabels()] == list("abcde")
    several = seen("MultilabelConfusionMatrix", num_labels=CLASSES)
    _, axes = several.plot()
    assert len(axes) == CLASSES
    with pytest.raises(ValueError, match="ax has 1 axes; pass 5"):
        several.plot(ax=axes[0])


def test_several_metrics(pyplot):
    inputs = batch("MulticlassAccuracy", 30, torch.Generator().manual_seed(1))
    together = devsan.metrics.MetricCollection(
        devsan.metrics.MulticlassAccuracy(CLASSES), devsan.metrics.MulticlassHammingDistance(CLASSES), prefix="val_"
    )
    values = [together(*inputs), together(*inputs)]
    assert [axis.get_ylabel() for _, axis in together.plot(values)] == ["val_MulticlassAccuracy", "val_MulticlassHammingDistance"]
    _, axis = together.plot(together=True)
    assert [label for _, _, label in lines(axis)] == list(values[0])
    with pytest.raises(ValueError, match="ax has 1 axes; pass one for each of val_"):
        together.plot(ax=[axis])

    tracker = devsan.metrics.MetricTracker(devsan.metrics.MulticlassAccuracy(CLASSES))
    for _ in range(3):
        tracker.increment()
        tracker.update(*inputs)
    _, axis = tracker.plot()
    assert lines(axis)[0][1] == tracker.compute_all().tolist()

    tasks = devsan.metrics.MultitaskWrapper({"a": devsan.metrics.MulticlassAccuracy(CLASSES), "b": together})
    both = tasks({"a": inputs[0], "b": inputs[0]}, {"a": inputs[1], "b": inputs[1]})
    assert len(tasks.plot()) == len(tasks.plot([both, both])) == 2
