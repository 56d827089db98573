"""Metrics made of metrics, beside TorchMetrics' of the same name."""

import copy
import io
import pickle
import warnings

import numpy
import pytest
import torch
import torchmetrics
import torchmetrics.classification
import torchmetrics.wrappers

import devsan.metrics
from collection_test import assert_equal_values, batches, both
from common import CLASSES, assert_same
from devsan.metrics import (
    BootStrapper,
    ClasswiseWrapper,
    MetricCollection,
    MetricTracker,
    MinMaxMetric,
    MultioutputWrapper,
    MultitaskWrapper,
    Running,
)

TASK = {"num_classes": CLASSES}
MADE = {
    "classwise": lambda lib: lib.ClasswiseWrapper(lib.MulticlassRecall(**TASK, average="none")),
    "classwise with labels": lambda lib: lib.ClasswiseWrapper(
        lib.MulticlassRecall(**TASK, average="none"), labels=list("abcde"), prefix="p_", postfix="_q"
    ),
    "classwise with a postfix": lambda lib: lib.ClasswiseWrapper(lib.MulticlassPrecision(**TASK, average=None), postfix="_q"),
    "extremes": lambda lib: lib.MinMaxMetric(lib.MulticlassAccuracy(**TASK)),
    "window": lambda lib: lib.Running(lib.MulticlassAccuracy(**TASK), window=3),
    "window of one": lambda lib: lib.Running(lib.MulticlassConfusionMatrix(**TASK), window=1),
    "window of all scores": lambda lib: lib.Running(lib.MulticlassAUROC(**TASK, thresholds=None), window=2),
    "bootstrap": lambda lib: lib.BootStrapper(lib.MulticlassAccuracy(**TASK), num_bootstraps=4, quantile=0.3, raw=True),
    "multinomial bootstrap": lambda lib: lib.BootStrapper(
        lib.MulticlassAccuracy(**TASK), num_bootstraps=3, sampling_strategy="multinomial", quantile=torch.tensor([0.1, 0.9]), mean=False
    ),
}


def values(result):
    return result if isinstance(result, dict) else {"": result}


def seen(how, count=4):
    metric = MADE[how](devsan.metrics)
    for inputs in batches(count):
        metric.update(*inputs)
    return metric


@pytest.mark.parametrize("how", [how for how in MADE if how != "window of all scores"])  # TorchMetrics has none of lists
def test_results_are_those_of_torchmetrics(how):
    ours, theirs = both(MADE[how])
    for epoch in range(2):
        for number, inputs in enumerate(batches(6, seed=epoch)):
            results = []
            for metric in (ours, theirs):
                torch.manual_seed(100 * epoch + number)
                # Of these TorchMetrics forgets what was before.
                if number % 2 and "bootstrap" not in how and how != "extremes":
                    results.append(metric(*inputs))
                else:
                    metric.update(*inputs)
                    results.append(metric.compute())
            assert_equal_values(*map(values, results))
        assert ours.higher_is_better == theirs.higher_is_better or theirs.higher_is_better is None
        ours.reset()
        theirs.reset()
        if how == "extremes":
            assert ours.max_val == -float("inf")  # TorchMetrics keeps them, against its own description
            break
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        ours.compute()


@pytest.mark.parametrize("how", MADE)
def test_copies_go_on_alone(how):
    metric = seen(how)
    before = metric.compute()
    file = io.BytesIO()
    torch.save(metric, file)
    file.seek(0)
    for copied in (metric.clone(), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), torch.load(file, weights_only=False)):
        assert type(copied) is type(metric)
        assert_equal_values(values(copied.compute()), values(before), 0)
        copied.update(*batches(1, seed=5)[0])
        assert_equal_values(values(metric.compute()), values(before), 0)


@pytest.mark.parametrize("how", MADE)
def test_checkpoints(how):
    metric = seen(how)
    before = metric.compute()
    assert not metric.state_dict()
    metric.persistent(True)
    fresh = MADE[how](devsan.metrics)
    fresh.load_state_dict(metric.state_dict())
    assert_equal_values(values(fresh.compute()), values(before), 0)
    torch.manual_seed(0)
    fresh.update(*batches(1, seed=5)[0])
    torch.manual_seed(0)
    metric.update(*batches(1, seed=5)[0])
    assert_equal_values(values(fresh.compute()), values(metric.compute()), 0)


@pytest.mark.parametrize("how", MADE)
def test_devices(how):
    moved = torch.nn.ModuleList([MADE[how](devsan.metrics)]).to("meta")[0]
    assert moved.device == torch.device("meta")
    with pytest.raises(RuntimeError, match="lies on cpu"):
        moved.update(*batches(1)[0])
    if how != "window of all scores":
        moved.update(*(tensor.to("meta") for tensor in batches(1)[0]))
        assert all(value.device.type == "meta" for value in values(moved.compute()).values())


@pytest.mark.parametrize("how", [how for how in MADE if "bootstrap" not in how])
def test_merging(how):
    one, other = seen(how, 2), seen(how, 1)
    one.merge_state(other)
    if how.startswith("classwise"):
        whole = MADE[how](devsan.metrics)
        for inputs in (*batches(2), *batches(1)):
            whole.update(*inputs)
        assert_equal_values(values(one.compute()), values(whole.compute()), 0)
    assert one.compute() is not None


def test_windows_keep_the_last_updates():
    metric = Running(devsan.metrics.CatMetric(), window=3)
    for number in range(5):
        metric.update(torch.tensor([float(number)]))
        assert metric.compute().tolist() == [float(last) for last in range(max(0, number - 2), number + 1)]
    assert metric(torch.tensor([9.0])).tolist() == [9.0]  # of the batch
    assert metric.compute().tolist() == [3.0, 4.0, 9.0] and metric.update_count == 6
    with pytest.raises(TypeError):
        metric.update("no tensor")
    assert metric.compute().tolist() == [3.0, 4.0, 9.0]


def test_windows_of_lists_and_moments_are_those_of_the_last_updates():
    for make in (lambda: devsan.metrics.MulticlassAUROC(CLASSES), lambda: devsan.metrics.MulticlassAUROC(CLASSES, thresholds=9)):
        metric = Running(make(), window=3)
        given = batches(6)
        for number, inputs in enumerate(given):
            metric.update(*inputs)
            whole = make()
            for last in given[max(0, number - 2) : number + 1]:
                whole.update(*last)
            assert_same(metric.compute(), whole.compute(), 0, 0)


def test_a_window_has_seen_its_updates():
    metric = Running(devsan.metrics.MulticlassAccuracy(**TASK), window=2)
    metric.update(*batches(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for each in (metric, copy.deepcopy(metric)):
            each.compute()
    metric.reset()
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        metric.compute()


def of_outputs(num_outputs=None):
    lib = devsan.metrics
    return {
        "plain": lib.PearsonCorrCoef(num_outputs=num_outputs),
        "window": lib.Running(lib.MeanSquaredError(num_outputs=num_outputs), 2),
        "bootstrap": lib.BootStrapper(lib.MeanSquaredError(num_outputs=num_outputs), 2, raw=True),
    }


@pytest.mark.parametrize("how", [*of_outputs(), "all"])
def test_copies_have_as_many_outputs(how):
    def make():
        return MetricCollection(of_outputs()) if how == "all" else of_outputs()[how]

    metric, loaded = make(), make()
    metric.update(*pairs(9))
    metric.persistent(True)
    loaded.load_state_dict(metric.state_dict())
    for copied in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), loaded):
        assert_equal_values(values(copied.compute()), values(metric.compute()), 0)
        copied.update(*pairs(5, 1))


@pytest.mark.parametrize("how", [*of_outputs(), "all"])
@pytest.mark.parametrize("counts", [(0, 1), (1, 0), (1, 2), (2, 1)])
def test_merged_ones_have_as_many_outputs(how, counts):
    def merged(num_outputs):
        two = []
        for count in counts:
            metrics = of_outputs(num_outputs)
            two.append(MetricCollection(metrics) if how == "all" else metrics[how])
            for seed in range(count):
                torch.manual_seed(seed)
                two[-1].update(*pairs(9, seed))
        two[0].merge_state(two[1])
        return values(two[0].compute())

    assert_equal_values(merged(None), merged(3), 0)


def test_merging_asks_for_the_same_number_of_outputs():
    for make in (lambda: of_outputs()["plain"], lambda: MetricCollection(of_outputs())):
        one, other = make(), make()
        one.update(*pairs(9))
        other.update(*(given[:, :2] for given in pairs(9)))
        with pytest.raises(RuntimeError, match="cannot merge"):
            one.merge_state(other)


def test_extremes_are_merged():
    def seen_one(value):
        metric = MinMaxMetric(devsan.metrics.MeanMetric())
        metric.update(value)
        metric.compute()
        return metric

    for wrap in (lambda metric: metric, lambda metric: MetricCollection({"m": metric}, prefix="p_")):
        metric = wrap(seen_one(1.0))
        metric.merge_state(wrap(seen_one(9.0)))
        assert list(metric.compute().values()) == [5, 9, 1]
        alone = devsan.metrics.MeanMetric()
        alone.update(8.0)
        metric.merge_state(wrap(alone))
        assert list(metric.compute().values()) == [6, 9, 1]


def test_extremes_of_whole_numbers():
    metric = MinMaxMetric(devsan.metrics.CatMetric())
    metric.update(torch.tensor([3]))
    assert {name: value.item() for name, value in metric.compute().items()} == {"raw": 3, "max": 3, "min": 3}
    metric.reset()
    for number in (2**24 + 1, 2**24 + 3):  # no float
        metric.update(torch.tensor([number]))
        result = metric.compute()
        metric._base_metric.reset()
    assert {name: value.item() for name, value in result.items()} == {"raw": 2**24 + 3, "max": 2**24 + 3, "min": 2**24 + 1}


def test_extremes_are_of_the_dtype_of_the_value():
    for dtype in (torch.float16, torch.float32, torch.float64):
        metric = MinMaxMetric(devsan.metrics.CatMetric())
        metric.update(torch.tensor([0.1], dtype=dtype))
        result = metric.compute()
        assert {value.dtype for value in result.values()} == {dtype} and result["max"] == result["min"] == result["raw"]


def test_extremes_leave_out_nan():
    metric = MinMaxMetric(devsan.metrics.PearsonCorrCoef())
    metric.update(torch.ones(4), torch.rand(4))  # a constant
    result = metric.compute()
    assert result["raw"].isnan() and result["max"] == -float("inf") and result["min"] == float("inf")
    metric.reset()
    for sign in (1, -1, 1):
        metric.update(torch.arange(4.0), sign * torch.arange(4.0))
        result = metric.compute()
        metric._base_metric.reset()
    assert (result["raw"], result["max"], result["min"]) == (1, 1, -1)


def test_a_bootstrap_keeps_all_or_none_of_a_batch():
    class Refuses(devsan.metrics.MulticlassAccuracy):
        calls = 0

        def update(self, preds, target):
            Refuses.calls += 1
            if Refuses.calls == 5:
                raise ArithmeticError("the second of the second")
            super().update(preds, target)

    metric = BootStrapper(Refuses(CLASSES), num_bootstraps=3, raw=True)
    inputs = batches(2)
    metric.update(*inputs[0])
    before = metric.compute()["raw"]
    with pytest.raises(ArithmeticError):
        metric.update(*inputs[1])
    assert_same(metric.compute()["raw"], before, 0)
    assert [part.update_count for part in metric.metrics] == [1, 1, 1]


def test_a_bootstrap_may_draw_nothing():
    class Strict(devsan.metrics.MulticlassAccuracy):
        def update(self, preds, target):
            assert len(target)
            super().update(preds, target)

    inputs = batches(1)[0]
    for strategy, n in (("poisson", 1), ("poisson", 0), ("multinomial", 0)):
        torch.manual_seed(0)
        metric = BootStrapper(Strict(CLASSES), num_bootstraps=8, sampling_strategy=strategy)
        metric.update(*(given[:n] for given in inputs))
        assert not all(part.metric_state for part in metric.metrics)  # as TorchMetrics, which does not update with nothing
        assert [part.update_count for part in metric.metrics] == [1] * 8
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            metric.compute()


@pytest.mark.parametrize("window", [False, True])
def test_a_bootstrap_that_drew_nothing_has_as_many_outputs(window):
    def make():
        metric = devsan.metrics.MeanSquaredError(num_outputs=None)
        return BootStrapper(Running(metric, 2) if window else metric, num_bootstraps=4, raw=True)

    torch.manual_seed(0)
    metric, loaded = make(), make()
    metric.update(*pairs(1))
    raw = metric.compute()["raw"]
    assert raw.shape == (4, 3) and 0 < raw[:, 0].isnan().sum() < 4
    metric.persistent(True)
    loaded.load_state_dict(metric.state_dict())
    assert_same(loaded.compute()["raw"], raw, 0)


def test_bootstraps_are_as_wide_as_they_should_be():
    torch.manual_seed(3)
    for strategy in ("poisson", "multinomial"):
        metric = BootStrapper(devsan.metrics.MeanMetric(), num_bootstraps=400, sampling_strategy=strategy)
        value = torch.randn(500, generator=torch.Generator().manual_seed(1))
        metric.update(value)
        result = metric.compute()
        assert abs(result["mean"] - value.mean()) < 0.015
        assert abs(result["std"] * 500**0.5 / value.std() - 1) < 0.15


def pairs(n, seed=0, nan=False):
    generator = torch.Generator().manual_seed(seed)
    preds, target = torch.randn(n, 3, generator=generator), torch.randn(n, 3, generator=generator)
    if nan:
        target[torch.rand(n, 3, generator=generator) < 0.2] = float("nan")
    return preds, target


@pytest.mark.parametrize("name", ["PearsonCorrCoef", "SpearmanCorrCoef", "R2Score", "MeanSquaredError"])
@pytest.mark.parametrize("nan", [False, True])
def test_each_output_is_a_metric_of_its_own(name, nan):
    ours, theirs = both(lambda lib: lib.MultioutputWrapper(getattr(lib, name)(), 3))
    for seed in range(3):
        inputs = pairs(30, seed, nan)
        for metric in (ours, theirs):
            metric.update(*inputs)
    assert_same(ours.compute(), theirs.compute(), 1e-5, 1e-6)
    alone = getattr(devsan.metrics, name)()
    for seed in range(3):
        preds, target = (given[:, 1] for given in pairs(30, seed, nan))
        alone.update(preds[~target.isnan()], target[~target.isnan()])
    assert_same(ours.compute()[1], alone.compute())
    assert_same(ours(*pairs(40, 9)), theirs(*pairs(40, 9)), 1e-5, 1e-6)
    copied = pickle.loads(pickle.dumps(ours))
    assert_same(copied.compute(), ours.compute(), 0, 0)
    ours.reset()
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        ours.compute()


def test_outputs_lie_where_it_is_said():
    preds, target = pairs(20)
    first = MultioutputWrapper(devsan.metrics.MeanAbsoluteError(), 3, output_dim=0, remove_nans=False)
    first.update(preds.T, target=target.T)
    assert_same(first.compute(), (preds - target).abs().mean(0))
    whole = MultioutputWrapper(devsan.metrics.MeanAbsoluteError(), 3, squeeze_outputs=False)
    assert_same(whole(preds, target), first.compute())
    with pytest.raises(ValueError, match="input 1 has shape \\(20, 2\\); pass samples, and 3 outputs in dimension -1"):
        whole.update(preds, target[:, :2])
    with pytest.raises(ValueError, match="num_outputs is 0"):
        MultioutputWrapper(devsan.metrics.MeanAbsoluteError(), 0)
    several = MultioutputWrapper(devsan.metrics.BinaryROC(), 3)
    several.update(preds.sigmoid(), target.gt(0).long())
    with pytest.raises(RuntimeError, match="BinaryROC has several results"):
        several.compute()


def tasks(lib):
    return lib.MultitaskWrapper(
        {"depth": lib.MeanSquaredError(), "class": lib.MetricCollection(lib.MulticlassAccuracy(**TASK), lib.MulticlassRecall(**TASK))},
        prefix="val_",
    )


def of_tasks(seed):
    scores, labels = batches(1, seed=seed)[0]
    preds, target = pairs(15, seed)
    return {"depth": preds[:, 0], "class": scores}, {"depth": target[:, 0], "class": labels}


def test_tasks_have_metrics_of_their_own():
    ours, theirs = both(tasks)
    for seed in range(3):
        for metric in (ours, theirs):
            metric.update(*of_tasks(seed))
    for found, expected in ((ours.compute(), theirs.compute()), (ours(*of_tasks(7)), theirs(*of_tasks(7)))):
        assert found.keys() == expected.keys() == {"val_depth", "val_class"}
        assert_same(found["val_depth"], expected["val_depth"])
        assert_equal_values(found["val_class"], expected["val_class"])
    for flatten in (True, False):
        assert list(ours.keys(flatten)) == list(theirs.keys(flatten))
        assert len(list(ours.values(flatten))) == len(list(theirs.values(flatten)))
    copied = pickle.loads(pickle.dumps(ours)).clone(postfix="_q")
    assert_same(copied.compute()["depth_q"], ours.compute()["val_depth"], 0, 0)
    ours.persistent()
    states = ours.state_dict()
    assert any(name.startswith("task_metrics.class.") for name in states)
    loaded = tasks(devsan.metrics)
    loaded.load_state_dict(states)
    assert_equal_values(loaded.compute()["val_class"], ours.compute()["val_class"])
    ours.reset()
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        ours.compute()


def test_tasks_take_a_batch_together_or_not_at_all():
    metric = tasks(devsan.metrics)
    metric.update(*of_tasks(1))
    before = metric.compute()
    preds, target = of_tasks(2)
    for call in (metric.update, metric):
        with pytest.raises(RuntimeError, match="have a target"):
            call(preds, target | {"class": target["class"] + CLASSES})
        assert_same(metric.compute()["val_depth"], before["val_depth"], 0, 0)
    with pytest.raises(ValueError, match="to have the same keys as the wrapped `task_metrics`"):
        metric.update({"depth": preds["depth"]}, target)
    for wrong, text in (({}, "Expected argument `task_metrics` to be a dict of metrics by task, but got {}"), ({"a": 3}, "that of 'a' is 3")):
        with pytest.raises(TypeError, match=text):
            MultitaskWrapper(wrong)


TRACKED = {
    "a metric": (lambda lib: lib.MulticlassAccuracy(**TASK), None),
    "a metric, lowest": (lambda lib: lib.MulticlassAccuracy(**TASK), False),
    "a collection": (lambda lib: lib.MetricCollection(lib.MulticlassAccuracy(**TASK), lib.MulticlassHammingDistance(**TASK)), None),
    "a collection, by hand": (lambda lib: lib.MetricCollection(lib.MulticlassAccuracy(**TASK), lib.MulticlassRecall(**TASK)), [True, False]),
    "by class": (lambda lib: lib.MetricCollection(
        lib.MulticlassAccuracy(**TASK), lib.ClasswiseWrapper(lib.MulticlassHammingDistance(**TASK, average=None))), None),
}  # fmt: skip


@pytest.mark.parametrize("how", TRACKED)
def test_the_best_step(how):
    make, maximize = TRACKED[how]
    trackers = both(lambda lib: lib.MetricTracker(make(lib), maximize))
    for step in range(4):
        for tracker in trackers:
            tracker.increment()
            for inputs in batches(2, seed=step):
                tracker.update(*inputs)
            tracker(*batches(1, seed=50 + step)[0])
        assert_equal_values(*(values(tracker.compute()) for tracker in trackers))
    ours, theirs = trackers
    assert ours.n_steps == theirs.n_steps == 4
    assert_equal_values(*(values(tracker.compute_all()) for tracker in trackers))
    best, steps = ours.best_metric(return_step=True)
    expected, expected_steps = theirs.best_metric(return_step=True)
    assert best == pytest.approx(expected) and steps == expected_steps
    assert ours.best_metric() == best
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert copied.best_metric(return_step=True) == (best, steps)
    ours.reset_all()
    with pytest.warns(UserWarning, match="before the ``update`` method"):
        ours.compute_all()


@pytest.mark.parametrize("better", [1, numpy.bool_(True), 0, numpy.bool_(False)])
def test_a_class_may_say_in_any_way_what_is_better(better):
    class Mine(devsan.metrics.MeanMetric):
        higher_is_better = better

    for metric in (Mine(), MetricCollection({"m": Mine()})):
        tracker = MetricTracker(metric)
        for value in (2.0, 1.0, 5.0, 3.0):
            tracker.increment()
            tracker.update(value)
        best, step = (list(values(part).values()) for part in tracker.best_metric(return_step=True))
        assert (best, step) == (([5.0], [2]) if better else ([1.0], [1]))
    with pytest.raises(TypeError, match="maximize.*boolean"):
        devsan.metrics._metrics.best_of(torch.ones(3), "x")


def test_trackers_that_cannot_say():
    tracker = MetricTracker(devsan.metrics.PearsonCorrCoef(), maximize=True)
    with pytest.raises(ValueError, match="cannot be called before"):
        tracker.update(torch.rand(3), torch.rand(3))
    with pytest.raises(AttributeError, match="pass maximize"):
        MetricTracker(devsan.metrics.PearsonCorrCoef())
    for constant in (True, False, True):
        tracker.increment()
        tracker.update(torch.ones(5) if constant else torch.arange(5.0), torch.arange(5.0))
    assert tracker.best_metric(return_step=True) == (1.0, 1)  # NaN is not the best
    tracker = MetricTracker(devsan.metrics.SumMetric(nan_strategy="ignore"), maximize=True)
    for value in (float("nan"), float("-inf"), float("-inf")):
        tracker.increment()
        tracker.update(torch.tensor([value]) if value == value else torch.tensor([float("inf"), float("-inf")]))
    assert tracker.compute_all()[0].isnan() and tracker.best_metric(return_step=True) == (float("-inf"), 1)
    tracker = MetricTracker(devsan.metrics.MulticlassRecall(**TASK, average=None))
    tracker.increment()
    tracker.update(*batches(1)[0])
    with pytest.warns(UserWarning, match="has no best value"):
        assert tracker.best_metric() is None


def test_wrong_arguments():
    metric = devsan.metrics.MulticlassAccuracy(CLASSES)
    for wrong, text in (
        (lambda: Running(3), "Expected argument `metric` to be an instance of .*but got 3"),
        (lambda: Running(metric, window=0), "`window` to be a positive integer but got 0"),
        (lambda: Running(MinMaxMetric(metric)), "is a wrapper"),
        (lambda: MinMaxMetric(torch.nn.Linear(1, 1)), "Expected base metric to be an instance of"),
        (lambda: BootStrapper(metric, sampling_strategy="jackknife"), "sampling_strategy is 'jackknife'"),
        (lambda: BootStrapper(metric, num_bootstraps=0), "num_bootstraps is 0"),
        (lambda: ClasswiseWrapper(metric, labels="abc"), "Expected argument `labels` to either be `None` or a list of strings"),
        (lambda: MetricTracker(metric, maximize=[True]), "should be a single bool"),
        (lambda: MetricTracker(MetricCollection(metric), maximize=[True, True]), "The len of argument `maximize` should match"),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()
    with pytest.raises(TypeError, match="no argument 'wnidow'"):
        MinMaxMetric(metric, wnidow=3)
    inputs = batches(1)[0]
    for wrapped, text in (
        (ClasswiseWrapper(metric), "one value for all classes"),
        (MinMaxMetric(devsan.metrics.MulticlassConfusionMatrix(CLASSES)), "Returned value from base metric should be a float"),
        (ClasswiseWrapper(devsan.metrics.MulticlassRecall(CLASSES, average=None), labels=["a"]), "there are 1 labels, but 5 values"),
    ):
        wrapped.update(*inputs)
        with pytest.raises(RuntimeError, match=text):
            wrapped.compute()
