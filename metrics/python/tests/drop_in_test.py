"""What a program finds the same after it has changed the import from TorchMetrics."""

import itertools
import subprocess
import sys
import warnings

import pytest
import torch
import torchmetrics
import torchmetrics.classification
import torchmetrics.functional.classification
import torchmetrics.functional.regression

import devsan.metrics as ours
from common import CLASSES, KINDS, assert_same, batch, make
from devsan.metrics import functional

theirs = torchmetrics.classification
GUESSED = [
    name for name, kind in sorted(KINDS.items())
    if any(argument.name == "from_logits" for argument in kind.arguments) and hasattr(theirs, name)
]  # fmt: skip
OPTIONS = {"num_classes": CLASSES, "num_labels": CLASSES, "beta": 2.0, "min_precision": 0.4137, "min_specificity": 0.4137}


def made(library, name, **more):
    known = {argument.name for argument in KINDS[name].arguments}
    return getattr(library, name)(**{key: value for key, value in (OPTIONS | more).items() if key in known})


def logits_for(name, n, generator):
    width = () if name.startswith("Binary") else (CLASSES,)
    if name.startswith("Multiclass"):
        target = torch.randint(CLASSES, (n,), generator=generator)
    else:
        target = torch.randint(2, (n, *width), generator=generator)
    return torch.randn(n, *width, generator=generator) * 3, target


def exact(name, thresholds):
    return [None] if "thresholds" not in {argument.name for argument in KINDS[name].arguments} else thresholds


@pytest.mark.parametrize("name", GUESSED)
def test_logits_are_guessed_as_there(name):
    generator = torch.Generator().manual_seed(1)
    for thresholds, ignore_index in itertools.product(exact(name, [None, 7]), (None, -1)):
        given = {"ignore_index": ignore_index, "thresholds": thresholds}
        mine, other = made(ours, name, **given), made(theirs, name, **given)
        for inside in (False, True, False):  # each batch for itself
            preds, target = logits_for(name, 40, generator)
            if inside:
                preds = preds.sigmoid() if not name.startswith("Multiclass") else preds.softmax(1)
            if ignore_index is not None:
                target[3] = ignore_index
            mine.update(preds, target)
            other.update(preds, target)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same(mine.compute(), other.compute(), 1e-5, 1e-5)


@pytest.mark.parametrize("name", GUESSED)
def test_guessing_reads_no_value_of_a_device(name):
    generator = torch.Generator().manual_seed(2)
    for thresholds in exact(name, [None, 7]):
        made(ours, name, thresholds=thresholds).update(*(x.to("meta") for x in logits_for(name, 9, generator)))


def test_ignored_samples_are_no_logits():
    preds, target = torch.tensor([-7.0, 0.3, 0.7]), torch.tensor([-1, 0, 1])
    assert ours.BinaryAccuracy(threshold=0.55, ignore_index=-1)(preds, target) == 1
    assert ours.BinaryAccuracy(threshold=0.55)(preds, target.clamp_min(0)) == pytest.approx(2 / 3)


def test_logits_that_are_said_stay_what_they_are():
    preds, target = torch.tensor([-7.0, 0.2, 0.7]), torch.tensor([0, 0, 1])
    with pytest.raises(ours.MetricError, match="no probability"):
        ours.BinaryAccuracy(from_logits=False)(preds, target)
    with pytest.raises(ours.MetricError, match="no probability"):
        ours.BinaryLogLoss()(preds, target)  # of logarithms, which probabilities of logits have lost


def test_floating_labels():
    preds, target = torch.rand(20), torch.randint(2, (20,))
    assert ours.BinaryF1Score()(preds, target.float()) == ours.BinaryF1Score()(preds, target)
    with pytest.raises(ours.MetricError, match="other than 0 and 1"):
        ours.BinaryF1Score()(preds, target + 0.5)


@pytest.mark.parametrize("name", ["R2Score", "ExplainedVariance"])
def test_outputs_are_those_of_the_first_batch(name):
    generator = torch.Generator().manual_seed(3)
    preds, target = (torch.rand(30, 3, generator=generator) for _ in range(2))
    mine, other = getattr(ours, name)(multioutput="raw_values"), getattr(torchmetrics, name)(multioutput="raw_values")
    for metric in (mine, other):
        for a, b in zip(preds.split(10), target.split(10)):
            metric(a, b)
    assert_same(mine.compute(), other.compute(), 1e-5, 1e-5)
    for copied in (mine.clone(), ours.MetricCollection(mine).clone()[name]):
        assert_same(copied.compute(), mine.compute())
    fresh = getattr(ours, name)(multioutput="raw_values")
    fresh.merge_state(mine)
    fresh.merge_state(getattr(ours, name)(multioutput="raw_values"))
    assert_same(fresh.compute(), mine.compute())
    mine.reset()
    mine.update(preds[:, 0], target[:, 0])
    assert mine.compute().shape == ()
    with pytest.raises(ours.MetricError, match="num_outputs is 1"):
        mine.update(preds, target)


@pytest.mark.parametrize("name", [
    "concordance_corrcoef", "explained_variance", "kendall_rank_corrcoef", "log_cosh_error", "pearson_corrcoef", "r2_score",
    "spearman_corrcoef",
])  # fmt: skip
def test_functions_take_any_number_of_outputs(name):
    generator = torch.Generator().manual_seed(4)
    preds, target = (torch.rand(30, 3, generator=generator) for _ in range(2))
    assert_same(getattr(functional, name)(preds, target), getattr(torchmetrics.functional.regression, name)(preds, target), 1e-5, 1e-5)


@pytest.mark.parametrize("name", ["multiclass_roc", "multiclass_precision_recall_curve"])
def test_curves_of_classes_are_averaged_as_there(name):
    generator = torch.Generator().manual_seed(6)
    preds, target = torch.rand(30, CLASSES, generator=generator).softmax(1), torch.randint(CLASSES, (30,), generator=generator)
    for thresholds, average in itertools.product((None, 7), ("micro", "macro")):
        given = {"num_classes": CLASSES, "thresholds": thresholds, "average": average}
        expected = getattr(torchmetrics.functional.classification, name)(preds, target, **given)
        assert_same(getattr(functional, name)(preds, target, **given), expected, 1e-5, 1e-5)
        rate = torchmetrics.functional.classification.multiclass_eer(preds, target, **given)
        assert_same(functional.multiclass_eer(preds, target, **given), rate, 1e-5, 1e-5)
    with pytest.raises(ours.MetricError, match="average is 'weighted'; pass 'micro', 'macro' or 'none'"):
        getattr(functional, name)(preds, target, CLASSES, average="weighted")


def test_queries_become_one_by_a_function():
    preds, target, indexes = torch.tensor([0.9, 0.3, 0.8, 0.1]), torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 1, 1])
    metric = ours.RetrievalMRR(aggregation=torch.prod)
    assert metric(preds, target, indexes=indexes) == 0.5 and metric.clone().compute() == 0.5 and metric.aggregation is torch.prod
    none = ours.RetrievalMRR(aggregation=torch.prod, empty_target_action="skip")
    assert none(preds, torch.zeros_like(target), indexes=indexes) == 0
    with pytest.raises(ours.MetricError, match="must be non-empty"):
        functional.retrieval_reciprocal_rank(preds[:0], target[:0])
    assert ours.RetrievalMRR(aggregation=lambda values, dim: values.sum(dim)).aggregation is not None


def test_results_are_of_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        metric = ours.MeanMetric()
        assert metric(torch.tensor([1.0, 2.0])).dtype == metric.dtype == torch.float64
        assert ours.MeanMetric(dtype=torch.float32).dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_scripting_is_refused():
    class Model(torch.nn.Module):
        def __init__(self, metric):
            super().__init__()
            self.metric = metric

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x

    for metric in (ours.MeanMetric(), ours.MetricCollection(ours.MeanMetric())):
        with pytest.raises(ours.MetricError, match="torch.jit.script has nothing to compile"):
            torch.jit.script(Model(metric))


def test_warnings_of_torchmetrics():
    with pytest.warns(UserWarning, match="The `reduction=sum` will not have any effect when `dim` is None"):
        ours.PeakSignalNoiseRatio(data_range=1.0, reduction="sum")
    with pytest.warns(UserWarning, match="4 NaN values found in confusion matrix have been replaced with zeros"):
        ours.MulticlassConfusionMatrix(2, normalize="all")(torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long))
    with pytest.warns(UserWarning, match="No positive samples found in target"):
        ours.BinaryAveragePrecision()(torch.rand(4), torch.zeros(4, dtype=torch.long))
    with pytest.warns(UserWarning, match="Falls back to standard r2 score"):
        ours.R2Score(adjusted=9)(torch.rand(4), torch.rand(4))


def test_metrics_of_tasks_are_classes():
    assert issubclass(ours.Accuracy, ours.Metric) and issubclass(ours.Accuracy, torchmetrics.Metric)
    assert type(ours.F1Score(task="multiclass", num_classes=3)) is ours.MulticlassF1Score
    for call in (ours.Accuracy.update, ours.Accuracy.compute):
        with pytest.raises(NotImplementedError, match="Accuracy metric does not have a global"):
            call(None)


def test_nothing_imports_torchmetrics():
    program = "import sys, devsan.metrics as m; m.MeanMetric(); assert 'torchmetrics' not in sys.modules; import torchmetrics; " \
        "metric = m.MeanMetric(); assert isinstance(metric, torchmetrics.Metric)"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"FrechetInceptionDistance"}))
def test_what_a_class_says_cannot_be_changed(name):
    metric = make(name)
    for constant in ("higher_is_better", "is_differentiable", "plot_lower_bound", "plot_upper_bound", "plot_legend_name"):
        with pytest.raises(RuntimeError, match=f"Can't change const `{constant}`"):
            setattr(metric, constant, None)
    lower, upper = metric.plot_lower_bound, metric.plot_upper_bound
    assert lower is None or upper is None or lower < upper
    assert all(getattr(metric, option) == value for option, value in metric._options.items())


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"FrechetInceptionDistance"}))
def test_values_lie_between_the_bounds(name):
    generator = torch.Generator().manual_seed(5)
    metric = make(name)
    value = metric(*batch(name, 20, generator))
    for tensor in [value] if torch.is_tensor(value) else []:
        kept = tensor[~tensor.isnan()].double()
        assert metric.plot_lower_bound is None or (kept >= metric.plot_lower_bound).all()
        assert metric.plot_upper_bound is None or (kept <= metric.plot_upper_bound).all()


@pytest.mark.parametrize("name", sorted(set(KINDS) - {"FrechetInceptionDistance"}))
def test_the_value_of_no_samples(name):
    metric = make(name)
    with pytest.warns(UserWarning, match=f"metric {name} was called before the ``update`` method"):
        metric.compute()
    assert not metric.update_called and metric.metric_state == {}


def test_errors_are_what_torchmetrics_raises():
    assert issubclass(ours.MetricError, RuntimeError) and issubclass(ours.MetricError, ValueError) and issubclass(ours.MetricError, TypeError)
    for call in (
        lambda: ours.MulticlassAccuracy(num_classes=1.5),
        lambda: ours.MulticlassAccuracy(num_classes=1),
        lambda: ours.BinaryAccuracy()(torch.rand(3), torch.rand(4)),
        lambda: ours.BinaryAccuracy().update(1, 2),
        lambda: ours.BinaryAccuracy().update(),
    ):
        with pytest.raises(ours.MetricError):
            call()


class Total(torchmetrics.Metric):
    """As a program would write it."""

    def __init__(self):
        super().__init__()
        self.add_state("total", torch.tensor(0.0), dist_reduce_fx="sum")

    def update(self, preds, target, scale=1):
        self.total += scale * target.sum()

    def compute(self):
        return self.total


def test_collections_hold_metrics_of_others():
    preds, target = torch.tensor([0.2, 0.8, 0.7]), torch.tensor([0, 1, 0])
    metrics = ours.MetricCollection([Total(), ours.BinaryAccuracy(), ours.BinaryPrecision()], prefix="val_")
    assert metrics(preds, target) == {"val_Total": 1, "val_BinaryAccuracy": pytest.approx(2 / 3), "val_BinaryPrecision": 0.5}
    metrics.update(preds, target=target, scale=3)
    copied = metrics.clone(prefix="copy_")
    assert metrics.compute()["val_Total"] == 4 and list(copied.compute()) == ["copy_Total", "copy_BinaryAccuracy", "copy_BinaryPrecision"]
    assert metrics.compute_groups == {0: ["Total"], 1: ["BinaryAccuracy", "BinaryPrecision"]}
    metrics.reset()
    metrics.update(preds, target)
    assert metrics.compute()["val_Total"] == 1
    metrics.persistent(True)
    loaded = ours.MetricCollection([Total(), ours.BinaryAccuracy(), ours.BinaryPrecision()], prefix="val_")
    loaded.persistent(True)
    loaded.load_state_dict(metrics.state_dict())
    assert loaded.compute() == metrics.compute()
    only = ours.MetricCollection({"mine": Total()})
    assert only(preds, target) == {"mine": 1} and only.compute() == {"mine": 1}
    only.reset()
    assert ours.MetricCollection([ours.BinaryAccuracy()], compute_groups=False).compute_groups == {}


def test_what_a_collection_cannot_hold():
    with pytest.raises(ValueError, match="Input 5 to `MetricCollection` is not a instance of"):
        ours.MetricCollection([Total(), 5])
    with pytest.raises(ValueError, match="Encountered two metrics both named Total"):
        ours.MetricCollection([Total(), Total()])
    with pytest.warns(UserWarning, match="which are not `Metric` so they will be ignored"):
        assert len(ours.MetricCollection(Total(), [Total()])) == 1


class Waits(torchmetrics.Metric):
    """A program's own, with what such metrics do."""

    def __init__(self):
        super().__init__()
        self.add_state("total", torch.tensor(0.0))

    def update(self, preds, target):
        if (preds > 1).any():
            raise ValueError("out of range")
        self.total += (preds[target > 0]).sum()

    def compute(self):
        return self.total


def test_checked_says_where_a_metric_waits():
    inputs = torch.rand(8), torch.ones(8, dtype=torch.int64)
    checked = ours.Checked(Waits())
    with pytest.warns(UserWarning) as noticed:
        checked.update(*inputs)
    texts = [str(warning.message) for warning in noticed]
    first = Waits.update.__code__.co_firstlineno
    assert texts == [
        f"Waits.update() waits for the device in aten._local_scalar_dense at {__file__}:{first + 1}",
        f"Waits.update() waits for the device in aten.index at {__file__}:{first + 3}",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked.update(*inputs)  # once for each place
    assert sorted(checked.findings.values()) == [2, 2]
    assert checked.compute().item() == pytest.approx(2 * inputs[0].sum().item()) and checked.total is checked.metric.total
    with pytest.raises(ValueError, match="out of range"):
        checked.update(2 + inputs[0], inputs[1])
    with pytest.raises(RuntimeError, match="waits for the device"):
        ours.Checked(Waits(), report="error").update(*inputs)
    assert isinstance(checked, torchmetrics.Metric)
    collection = ours.MetricCollection({"theirs": ours.Checked(Waits(), report="silent"), "ours": ours.BinaryAccuracy()})
    collection.update(*inputs)
    assert set(collection.compute()) == {"theirs", "ours"}


class Does(Waits):
    """What a test gives it."""

    def __init__(self, act):
        super().__init__()
        self.act = act

    def update(self, *inputs):
        self.act(self, *inputs)


def found(act, *inputs):
    checked = ours.Checked(Does(act), report="silent")
    checked.update(*inputs)
    return [(finding.what, finding.why) for finding in checked.findings]


def test_checked_knows_which_values_are_needed():
    x, mask, number = torch.rand(4), torch.tensor([True, False, True, False]), torch.tensor([2, 0, 1, 1])
    puts = [("wait", "aten.index_put_")]
    assert found(lambda metric, x: x.__setitem__(mask, torch.rand(2)), x) == puts
    assert found(lambda metric, x: x.index_put_((mask,), torch.tensor(1.0), accumulate=True), x) == puts
    assert found(lambda metric, x: x.__setitem__(mask.to(torch.uint8), torch.rand(2)), x) == puts
    assert found(lambda metric, x: x.__setitem__(mask, 0), x) == []
    assert found(lambda metric, x: x.__setitem__(number, torch.rand(4)), x) == []
    assert found(lambda metric, x: x.repeat_interleave(number), x) == [("wait", "aten.repeat_interleave")]
    assert found(lambda metric, x: x.repeat_interleave(number, output_size=4), x) == []
    assert found(lambda metric, x: torch.repeat_interleave(number, output_size=4), x) == []
    assert found(lambda metric, x: x.repeat_interleave(3), x) == []


def test_checked_says_what_moves():
    def move(metric, x):
        metric.total = metric.total.to("meta")

    assert found(move, torch.rand(8)) == [
        ("device", "cpu to meta in aten._to_copy"),
        ("device", "its state `total` lies on meta, but the inputs on cpu"),
    ]
    still = ours.Checked(ours.MeanSquaredError(), report="error", calls=("update", "forward", "compute"))
    still.update(torch.rand(8), torch.rand(8))
    assert still.compute() == still.metric.compute()
    for given in ({"metric": torch.nn.Linear(1, 1)}, {"metric": Waits(), "report": "loud"}, {"metric": Waits(), "calls": ("reset",)}):
        with pytest.raises(TypeError, match="Checked: Expected argument"):
            ours.Checked(**given)
