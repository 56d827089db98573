"""MetricCollection as TorchMetrics' is used, and its results beside TorchMetrics'."""

import copy
import io
import pickle

import pytest
import torch
import torchmetrics
import torchmetrics.classification
import torchmetrics.regression
import torchmetrics.wrappers

import devsan.metrics
from common import CLASSES, assert_same, batch

TASK = {"num_classes": CLASSES}


def both(make):
    """The same of devsan.metrics and TorchMetrics, which has its classes in several modules."""

    class Theirs:
        def __getattr__(self, name):
            modules = torchmetrics.classification, torchmetrics.regression, torchmetrics.wrappers, torchmetrics
            return next(getattr(module, name) for module in modules if hasattr(module, name))

    return make(devsan.metrics), make(Theirs())


def metrics_of(lib):
    return [lib.MulticlassAccuracy(**TASK), lib.MulticlassF1Score(**TASK, average="micro"), lib.MulticlassConfusionMatrix(**TASK)]


MADE = {
    "list": lambda lib: lib.MetricCollection(metrics_of(lib)),
    "tuple with prefix": lambda lib: lib.MetricCollection(tuple(metrics_of(lib)), prefix="val_"),
    "arguments": lambda lib: lib.MetricCollection(*metrics_of(lib), postfix="/0"),
    "one": lambda lib: lib.MetricCollection(lib.MulticlassAccuracy(**TASK)),
    "dictionary": lambda lib: lib.MetricCollection({"b": lib.MulticlassRecall(**TASK), "a": lib.MulticlassPrecision(**TASK)}, prefix="<", postfix=">"),
    "no groups": lambda lib: lib.MetricCollection(metrics_of(lib), compute_groups=False),
    "chosen groups": lambda lib: lib.MetricCollection(
        lib.MulticlassRecall(**TASK), lib.MulticlassPrecision(**TASK), lib.MulticlassAccuracy(**TASK),
        compute_groups=[["MulticlassRecall", "MulticlassPrecision"]],
    ),
    "nested": lambda lib: lib.MetricCollection(
        [lib.MetricCollection([lib.MulticlassAccuracy(**TASK, average=average), lib.MulticlassRecall(**TASK, average=average)], postfix=f"_{average}")
         for average in ("macro", "micro")],
        prefix="all/",
    ),
    "nested in a dictionary": lambda lib: lib.MetricCollection(
        {"x": lib.MetricCollection(metrics_of(lib), prefix="in_"), "y": lib.MulticlassAUROC(**TASK, thresholds=11)}
    ),
    "of a collection": lambda lib: lib.MetricCollection(lib.MetricCollection(metrics_of(lib), prefix="p_"), postfix="_q"),
    "classwise": lambda lib: lib.MetricCollection(
        {"recall": lib.ClasswiseWrapper(lib.MulticlassRecall(**TASK, average=None)), "accuracy": lib.MulticlassAccuracy(**TASK, average=None)}
    ),
    "the same names": lambda lib: lib.MetricCollection(
        {name: lib.ClasswiseWrapper(metric(**TASK, average=None), labels=list("abcde"), prefix="class_")
         for name, metric in (("recall", lib.MulticlassRecall), ("precision", lib.MulticlassPrecision))},
        prefix="test_",
    ),
    "extremes": lambda lib: lib.MetricCollection(
        {"extremes": lib.MinMaxMetric(lib.MulticlassAccuracy(**TASK)), "accuracy": lib.MulticlassAccuracy(**TASK)}
    ),
    "a window": lambda lib: lib.MetricCollection({"last": lib.Running(lib.MulticlassAccuracy(**TASK), window=2), "all": lib.MulticlassAccuracy(**TASK)}),
    "several tensors": lambda lib: lib.MetricCollection([lib.MulticlassROC(**TASK, thresholds=7), lib.MulticlassPrecisionRecallCurve(**TASK, thresholds=7)]),
}  # fmt: skip
OF_WRAPPERS = ("classwise", "the same names", "extremes", "a window")


def batches(count=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [batch("MulticlassAccuracy", 31, generator) for _ in range(count)]


def assert_equal_values(ours, theirs, rtol=1e-6):
    assert list(ours) == list(theirs)
    for name in ours:
        assert_same(ours[name], theirs[name], rtol)


@pytest.mark.parametrize("how", MADE)
def test_results_are_those_of_torchmetrics(how):
    ours, theirs = both(MADE[how])
    if how in OF_WRAPPERS:
        theirs._enable_compute_groups = False  # which show what a metric in a wrapper has computed before
    assert list(ours.keys()) == list(theirs.keys()) and list(ours.keys(keep_base=True)) == list(theirs.keys(keep_base=True))
    assert len(ours) == len(theirs)
    for epoch in range(2):
        for number, inputs in enumerate(batches(seed=epoch)):
            if number % 2 and how != "extremes":  # of which TorchMetrics forgets what was before
                assert_equal_values(ours(*inputs), theirs(*inputs))
            else:
                ours.update(*inputs)
                theirs.update(*inputs)
            assert_equal_values(ours.compute(), theirs.compute())
        ours.reset()
        theirs.reset()
        if how == "extremes":
            break  # TorchMetrics keeps them over reset(), against its own description
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        ours.compute()


def test_states_are_shared_by_type_and_options():
    metrics = devsan.metrics.MetricCollection(
        {
            "accuracy": devsan.metrics.MulticlassAccuracy(CLASSES),
            "recall": devsan.metrics.MulticlassRecall(CLASSES, average="weighted"),
            "top": devsan.metrics.MulticlassAccuracy(CLASSES, top_k=2),
            "matrix": devsan.metrics.MulticlassConfusionMatrix(CLASSES),
            "worst": devsan.metrics.MinMaxMetric(devsan.metrics.MulticlassPrecision(CLASSES)),
        }
    )
    groups = {0: ["accuracy", "recall", "worst"], 1: ["matrix"], 2: ["top"]}
    assert metrics.compute_groups == groups
    inputs = batches(1)[0]
    metrics.update(*inputs)
    first, second = metrics["accuracy"].metric_state, metrics["recall"].metric_state
    assert all(first[name].data_ptr() == second[name].data_ptr() for name in first)
    assert metrics["accuracy"].update_count == metrics["worst"].update_count == 1
    for copied in (metrics.clone(), copy.deepcopy(metrics), pickle.loads(pickle.dumps(metrics))):
        assert copied.compute_groups == groups
        copied.update(*inputs)
        one, other = (copied[name].metric_state for name in ("accuracy", "recall"))
        assert all(one[name].data_ptr() == other[name].data_ptr() for name in one)
        assert one["counts"].data_ptr() != first["counts"].data_ptr() and metrics["accuracy"].update_count == 1


def test_a_sharing_metric_is_not_changed_alone():
    metrics = devsan.metrics.MetricCollection(metrics_of(devsan.metrics)[:1] + [devsan.metrics.MulticlassRecall(CLASSES)])
    inputs = batches(1)[0]
    metrics.update(*inputs)
    before = metrics.compute()
    member = metrics["MulticlassRecall"]
    for change in (
        lambda: member.update(*inputs),
        lambda: member(*inputs),
        lambda: member.merge_state(member.clone()),
        lambda: metrics["MulticlassAccuracy"].update(*inputs),
    ):
        with pytest.raises(RuntimeError, match="shares its states with other metrics of its collection"):
            change()
    assert_equal_values(metrics.compute(), before, 0)
    alone = member.clone()
    alone.update(*inputs)
    assert alone.update_count == 2 and member.update_count == 1
    with pytest.raises(ValueError, match="shares states in another collection"):
        devsan.metrics.MetricCollection(member)
    member.reset()  # alone, as Lightning resets what was logged
    assert member.update_count == 0 and metrics["MulticlassAccuracy"].update_count == 1
    metrics.update(*inputs)
    assert member.update_count == 1 and metrics["MulticlassAccuracy"].update_count == 2
    assert_equal_values({"MulticlassRecall": member.compute()}, {"MulticlassRecall": before["MulticlassRecall"]}, 0)
    assert metrics(*inputs) and (member.update_count, metrics["MulticlassAccuracy"].update_count) == (2, 3)
    for each in metrics.values():
        each.reset()
    metrics.update(*inputs)
    assert list(metrics.compute_groups.values()) == [["MulticlassAccuracy", "MulticlassRecall"]]
    assert_equal_values(metrics.compute(), before, 0)
    out = metrics.pop("MulticlassRecall")  # has states of its own then
    out.update(*inputs)
    assert metrics["MulticlassAccuracy"].update_count == 1 and list(metrics.keys()) == ["MulticlassAccuracy"]
    metrics.update(*inputs)


def test_all_or_none_of_a_batch():
    class Refuses(devsan.metrics.MulticlassRecall):
        def update(self, preds, target):
            if len(target) == 3:
                raise ArithmeticError("three")
            super().update(preds, target)

    metrics = devsan.metrics.MetricCollection(
        {
            "a": devsan.metrics.MulticlassAccuracy(CLASSES),
            "b": devsan.metrics.Running(devsan.metrics.MulticlassAccuracy(CLASSES), window=2),
            "c": devsan.metrics.MulticlassAUROC(CLASSES, thresholds=None),
            "d": devsan.metrics.MulticlassConfusionMatrix(CLASSES),
            "z": Refuses(CLASSES),
        }
    )
    assert len(metrics.compute_groups) == 5
    for inputs in batches(3):
        metrics.update(*inputs)
    before, states = metrics.compute(), metrics.metric_state
    counts = [metric.update_count for metric in metrics.values()]
    preds, target = batches(1)[0]
    with pytest.raises(ArithmeticError, match="three"):
        metrics.update(preds[:3], target[:3])
    with pytest.raises(RuntimeError, match="have a target outside"):
        metrics.update(preds, target + CLASSES)
    assert_equal_values(metrics.compute(), before, 0)
    assert [metric.update_count for metric in metrics.values()] == counts
    torch.testing.assert_close(metrics.metric_state, states, rtol=0, atol=0)
    metrics.update(preds, target)


def test_keyword_arguments_go_to_those_that_know_them():
    metrics = devsan.metrics.MetricCollection(
        {"weighted": devsan.metrics.MeanSquaredError(), "plain": devsan.metrics.PearsonCorrCoef()}
    )
    preds, target, weight = torch.rand(3, 9)
    metrics.update(preds=preds, target=target, weight=weight)
    expected = devsan.metrics.functional.mean_squared_error(preds, target, weight=weight)
    assert_same(metrics.compute()["weighted"], expected, 0)


def test_names_and_wrong_arguments():
    lib = devsan.metrics
    for wrong, text in (
        (lambda: lib.MetricCollection(3), "Expected a metric, a sequence or a dictionary"),
        (lambda: lib.MetricCollection([torch.nn.Linear(1, 1)]), "is not a instance of"),
        (lambda: lib.MetricCollection([lib.SumMetric(), lib.SumMetric()]), "Encountered two metrics both named SumMetric"),
        (lambda: lib.MetricCollection({"a": lib.SumMetric()}, lib.SumMetric()), "besides a dictionary"),
        (lambda: lib.MetricCollection({"a.b": lib.SumMetric()}), "without dots"),
        (lambda: lib.MetricCollection(lib.SumMetric(), prefix=3), "Expected input `prefix` to be a string"),
        (lambda: lib.MetricCollection(lib.SumMetric(), compute_groups=[["MeanMetric"]]), "Input MeanMetric in `compute_groups` argument does not match"),
        (
            lambda: lib.MetricCollection(lib.SumMetric(), lib.MeanMetric(), compute_groups=[["SumMetric", "MeanMetric"]]),
            "hold different states",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()
    metrics = lib.MetricCollection(lib.SumMetric(), prefix="a_", postfix="_z")
    assert "SumMetric" in metrics and "a_SumMetric_z" in metrics and metrics["a_SumMetric_z"] is metrics["SumMetric"]
    other = metrics.clone(prefix="b_")
    other.update(2.0)
    assert list(other.compute()) == ["b_SumMetric_z"] and not metrics["SumMetric"].update_called
    metrics.add_metrics({"mean": lib.MeanMetric()})
    metrics.update(4.0)
    assert metrics.compute() == {"a_SumMetric_z": 4.0, "a_mean_z": 4.0}


def test_metrics_that_have_seen_something_keep_it():
    inputs = batches(2)
    seen = devsan.metrics.MulticlassAccuracy(CLASSES)
    seen.update(*inputs[0])
    metrics = devsan.metrics.MetricCollection(seen, devsan.metrics.MulticlassRecall(CLASSES))
    assert len(metrics.compute_groups) == 2
    metrics.update(*inputs[1])
    whole = devsan.metrics.MulticlassAccuracy(CLASSES)
    for batch_ in inputs:
        whole.update(*batch_)
    assert_same(metrics.compute()["MulticlassAccuracy"], whole.compute(), 0)
    metrics.reset()
    assert len(metrics.compute_groups) == 1


@pytest.mark.parametrize("how", MADE)
def test_checkpoints(how):
    metrics = MADE[how](devsan.metrics)
    module = torch.nn.Module()
    module.metrics = metrics
    for inputs in batches(3):
        metrics.update(*inputs)
    assert not module.state_dict()
    metrics.persistent()
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    fresh = torch.nn.Module()
    fresh.metrics = MADE[how](devsan.metrics)
    fresh.load_state_dict(torch.load(file))
    assert_equal_values(fresh.metrics.compute(), metrics.compute(), 0)
    more = batches(1, seed=9)[0]
    fresh.metrics.update(*more)
    metrics.update(*more)
    assert_equal_values(fresh.metrics.compute(), metrics.compute(), 0)


def test_a_checkpoint_with_other_states_of_one_group_is_an_error():
    metrics = devsan.metrics.MetricCollection(devsan.metrics.MulticlassAccuracy(CLASSES), devsan.metrics.MulticlassRecall(CLASSES))
    metrics.persistent()
    metrics.update(*batches(1)[0])
    states = metrics.state_dict()
    states["MulticlassRecall.counts"] = states["MulticlassRecall.counts"] + 1
    with pytest.raises(RuntimeError, match="differ in the dictionary"):
        metrics.load_state_dict(states)
    part = {name: state for name, state in metrics.state_dict().items() if name.startswith("MulticlassRecall")}
    other = metrics.clone()
    other.reset()
    other.load_state_dict(part)
    assert_equal_values(other.compute(), metrics.compute(), 0)


def test_merging_and_moving():
    inputs = batches(2)
    parts = [MADE["list"](devsan.metrics), MADE["no groups"](devsan.metrics)]
    for part, given in zip(parts, inputs):
        part.update(*given)
    whole = MADE["list"](devsan.metrics)
    for given in inputs:
        whole.update(*given)
    parts[0].merge_state(parts[1])
    assert_equal_values(parts[0].compute(), whole.compute(), 0)
    assert parts[0]["MulticlassAccuracy"].update_count == 2
    holder = torch.nn.ModuleList([MADE["list"](devsan.metrics)]).to("meta")
    assert all(metric.device == torch.device("meta") for metric in holder[0].values())
    with pytest.raises(RuntimeError, match="lies on cpu"):
        holder[0].update(*inputs[0])
