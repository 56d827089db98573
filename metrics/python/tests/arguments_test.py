"""The names, arguments and defaults are TorchMetrics', and what is wrong with an argument is said."""

import ast
import inspect
from pathlib import Path

import pytest
import torch
import torchmetrics
import torchmetrics.classification
import torchmetrics.detection.mean_ap
import torchmetrics.functional
import torchmetrics.functional.classification
import torchmetrics.functional.detection
import torchmetrics.functional.image
import torchmetrics.functional.regression
import torchmetrics.functional.retrieval
import torchmetrics.functional.segmentation
import torchmetrics.functional.text
import torchmetrics.image
import torchmetrics.regression
import torchmetrics.retrieval
import torchmetrics.segmentation
import torchmetrics.text

import devsan.metrics
import devsan.metrics.functional
from common import KINDS, NAMES, batch, kind_of, make, options
from devsan.metrics import Metric

# TorchMetrics has no such metric, or another one under that name.
OWN = {name for name in KINDS if name.endswith(("Dice", "BrierScore", "LogLoss"))} | {"FrechetInceptionDistance"}
# What TorchMetrics lacks or takes by **kwargs.
OWN_ARGUMENTS = {"from_logits", "validate", "zero_division", "num_outputs", "unbiased", "dtype", "accumulation", "weight", "weighted"} | {
    "device_policy", "process_group", "sync_on_compute", "dist_sync_on_step", "compute_with_cache", "distributed_available_fn",
    "compute_on_cpu", "dist_sync_fn",
}  # fmt: skip
NOT_OFFERED = {"normalization"}  # which sigmoid or softmax it applies to what it guesses to be logits


def found_in(name, *modules):
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def theirs(name):
    # The package itself last: what it has of rankings and text are deprecated classes with fewer arguments.
    return found_in(
        name, torchmetrics.classification, torchmetrics.image, torchmetrics.regression, torchmetrics.retrieval,
        torchmetrics.text, torchmetrics.segmentation, torchmetrics.detection, torchmetrics.detection.mean_ap, torchmetrics,  # fmt: skip
    )


def their_function(name):
    functional = torchmetrics.functional
    return found_in(
        name, functional.classification, functional.image, functional.regression, functional.retrieval, functional.text,
        functional.segmentation, functional.detection, functional,  # fmt: skip
    )


def arguments(function):
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {name: item for name, item in inspect.signature(function).parameters.items() if item.kind not in kinds}


def assert_same_arguments(ours, other, name, different_defaults=()):
    common = [item for item in other if item not in NOT_OFFERED]
    positional = [item for item in ours if ours[item].kind is not inspect.Parameter.KEYWORD_ONLY]
    extra = [item for item in positional if item not in common]
    assert set(extra) <= OWN_ARGUMENTS, name
    # A position means the same argument in both, up to the first that only we have.
    same = positional[: positional.index(extra[0])] if extra else positional
    assert same == common[: len(same)] and set(common) <= set(positional), name
    for item in common:
        if item not in different_defaults:
            assert ours[item].default == other[item].default, (name, item)


@pytest.mark.parametrize("name", [name for name in sorted(KINDS) if name not in OWN])
def test_class_arguments(name):
    ours = arguments(getattr(devsan.metrics, name).__init__)
    # num_classes of the multiclass stat scores may be None in TorchMetrics if all is labels and the average is micro.
    assert_same_arguments(ours, arguments(theirs(name).__init__), name, {"num_classes"})


@pytest.mark.parametrize("name", [name for name in sorted(KINDS) if name not in OWN])
def test_update_arguments_and_direction(name):
    ours, other = getattr(devsan.metrics, name), theirs(name)
    if not name.startswith("Running"):  # in TorchMetrics, a wrapper of any metric
        assert [item for item in arguments(ours.update) if item != "weight" or item in arguments(other.update)] == list(
            arguments(other.update)
        )
    # Which TorchMetrics does not say of these.
    if not name.endswith(("Specificity", "NegativePredictiveValue", "EER")) or "At" in name:
        assert ours.higher_is_better == other.higher_is_better


FUNCTIONS = [name for name in devsan.metrics.functional.__all__ if not name.endswith(("dice", "brier_score", "log_loss"))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_arguments(name):
    ours = arguments(getattr(devsan.metrics.functional, name))
    other = arguments(their_function(name))
    if name == "exact_match":  # the one whose order differs from all others of TorchMetrics that take a task
        assert set(other) <= set(ours)
        return
    # Of the hinge loss TorchMetrics does not validate by default.
    assert_same_arguments(ours, other, name, {"num_classes", "zero_division"} | ({"validate_args"} if "hinge" in name else set()))


FACTORIES = sorted(
    name for name, entry in vars(devsan.metrics.classification).items()
    if name in devsan.metrics.classification.__all__ and issubclass(entry, Metric) and not hasattr(entry, "_kind")
)  # fmt: skip


def test_every_task_less_name_is_there():
    tasks = {getattr(theirs(name), "__name__") for name in FACTORIES if name not in ("Dice", "BrierScore", "LogLoss")}
    assert {"Accuracy", "F1Score", "AUROC", "ExactMatch", "CohenKappa"} <= tasks


@pytest.mark.parametrize("name", [name for name in FACTORIES if name not in ("Dice", "BrierScore", "LogLoss")])
def test_factory_arguments(name):
    ours = arguments(getattr(devsan.metrics, name))
    other = arguments(theirs(name).__new__)
    other.pop("cls")
    assert_same_arguments(ours, other, name, {"average"} if name == "EER" else ())


def test_factories_choose_by_task():
    assert type(devsan.metrics.Accuracy("binary")) is devsan.metrics.BinaryAccuracy
    accuracy = devsan.metrics.Accuracy(task="multiclass", num_classes=3, num_labels=7, ignore_index=-1)
    assert accuracy._options["average"] == "micro" and accuracy._options["num_classes"] == 3
    assert type(devsan.metrics.FBetaScore("multilabel", num_labels=3)) is devsan.metrics.MultilabelFBetaScore
    with pytest.raises(ValueError, match="Accuracy: Invalid Classification: expected one of 'binary', 'multiclass', 'multilabel', but got 'mutliclass'"):
        devsan.metrics.Accuracy(task="mutliclass")
    with pytest.raises(ValueError, match="Accuracy: Optional arg `num_classes` must be type `int` when task is multiclass"):
        devsan.metrics.Accuracy(task="multiclass")
    with pytest.raises(TypeError, match="MulticlassAccuracy has no argument 'from_logits'"):
        devsan.metrics.Accuracy(task="multiclass", num_classes=3, from_logits=True)
    with pytest.raises(TypeError, match="Accuracy: .*'number'"):
        devsan.metrics.Accuracy(task="binary", number=3)


@pytest.mark.parametrize(
    "error, text, call",
    [
        (TypeError, "MulticlassAccuracy: missing a required argument: 'num_classes'", lambda m: m.MulticlassAccuracy()),
        (TypeError, "MulticlassAccuracy: Expected argument `num_classes` to be an integer, but got 5.0 of type float", lambda m: m.MulticlassAccuracy(5.0)),
        (TypeError, "MulticlassAccuracy: Expected argument `num_classes` to be an integer, but got True of type bool", lambda m: m.MulticlassAccuracy(True)),
        (ValueError, "MulticlassAccuracy: num_classes is 1; pass at least 2", lambda m: m.MulticlassAccuracy(1)),
        (ValueError, "MulticlassAccuracy: top_k is 6; pass a number from 1", lambda m: m.MulticlassAccuracy(5, top_k=6)),
        (ValueError, "Expected argument `average` to be 'micro', 'macro', 'weighted', 'none' or None, but got 'mean'",
         lambda m: m.MulticlassAccuracy(5, average="mean")),
        (TypeError, "BinaryAccuracy: Expected argument `threshold` to be a number, but got '0.5' of type str", lambda m: m.BinaryAccuracy("0.5")),
        (ValueError, "BinaryAccuracy: threshold is 1.5; pass a probability", lambda m: m.BinaryAccuracy(1.5)),
        (TypeError, "MeanSquaredError: Expected argument `squared` to be a boolean, but got 0 of type int", lambda m: m.MeanSquaredError(0)),
        (TypeError, "MeanSquaredError: Expected argument `dtype` to be a torch.dtype, but got 'float64' of type str", lambda m: m.MeanSquaredError(dtype="float64")),
        (ValueError, "Expected argument `device_policy` to be 'follow', 'per_device', 'move', but got 'here'", lambda m: m.SumMetric(device_policy="here")),
        (TypeError, "BinaryROC: Expected argument `thresholds` to be a number of thresholds", lambda m: m.BinaryROC("5")),
        (ValueError, "BinaryROC: thresholds .*ascending", lambda m: m.BinaryROC([0.5, 0.1])),
        (ValueError, "MeanMetric: Arg `nan_strategy` should either be a number or one of 'error', 'warn', 'ignore', 'disable', but got 'stop'",
         lambda m: m.MeanMetric("stop")),
        (ValueError, "RunningMean: window is 0; pass at least 1", lambda m: m.RunningMean(0)),
        (ValueError, "CosineSimilarity: Expected argument `reduction` to be 'mean', 'sum', but got 'none'", lambda m: m.CosineSimilarity("none")),
        (ValueError, "SumMetric: Expected argument `compute_on_cpu` to be False, the only one offered, but got True", lambda m: m.SumMetric(compute_on_cpu=True)),
        (TypeError, "SumMetric: got an unexpected keyword argument 'nans'", lambda m: m.SumMetric(nans=1)),
        (ValueError, "BinaryAccuracy: Expected argument `validate` to be 'auto', 'eager', 'deferred', but got 'never'", lambda m: m.BinaryAccuracy(validate="never")),
    ],
)  # fmt: skip
def test_what_no_metric_can_be_made_of(error, text, call):
    with pytest.raises(error, match=text):
        call(devsan.metrics)


def test_thresholds_may_be_a_tensor():
    by_list, by_tensor = (devsan.metrics.BinaryROC(values) for values in ([0.0, 0.5], torch.tensor([0.0, 0.5])))
    scores, target = torch.tensor([0.2, 0.7]), torch.tensor([0, 1])
    assert torch.equal(by_list(scores, target).tpr, by_tensor(scores, target).tpr)
    assert "thresholds=[0.0, 0.5]" in repr(by_tensor)


@pytest.mark.parametrize(
    "error, text, call",
    [
        (TypeError, "Expected argument `preds` to be of type `torch.Tensor`, but got list", lambda m, t: m.update([0.5], t)),
        (TypeError, "`target` cannot be None; pass a torch.Tensor", lambda m, t: m.update(t, None)),
        (TypeError, "update\\(\\) was called without `target`; pass preds target", lambda m, t: m.update(t)),
        (TypeError, "update\\(\\) was passed 4 arguments; pass 3", lambda m, t: m.update(t, t, t, t)),
        (TypeError, "update\\(\\) has no argument `preds_`; pass preds target", lambda m, t: m.update(preds_=t, target=t)),
        (TypeError, "`preds` was passed to update\\(\\) twice; pass it once", lambda m, t: m.update(t, preds=t)),
        (RuntimeError, "`preds` has shape \\[2\\] but `target` has shape \\[3\\]", lambda m, t: m.update(t, torch.zeros(3).long())),
        (RuntimeError, "`preds` lies on meta", lambda m, t: m.update(t.to("meta"), t)),
        (RuntimeError, "1 of 2 samples have a target", lambda m, t: m.update(t, torch.tensor([0, 9]))),
    ],
)
def test_wrong_inputs_change_nothing(error, text, call):
    metric = devsan.metrics.BinaryAccuracy()
    right = torch.tensor([0, 1])
    metric.update(right, right)
    with pytest.raises(error, match="BinaryAccuracy: .*" + text) as raised:
        call(metric, right)
    assert "Exception raised from" not in str(raised.value) and "frame #" not in str(raised.value)
    assert metric.update_count == 1 and metric.compute() == 1


@pytest.mark.parametrize(
    "text, call",
    [
        ("CatMetric: `value` is of type NoneType; pass a tensor, a number", lambda m: m.CatMetric().update(None)),
        ("MeanMetric: `value` is of type str", lambda m: m.MeanMetric().update("1")),
        ("RunningMean: `weight` is of type dict", lambda m: m.RunningMean().update(1.0, {})),
    ],
)
def test_values_are_numbers(text, call):
    with pytest.raises(TypeError, match=text):
        call(devsan.metrics)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_may_be_named(name):
    inputs = batch(name, 8, torch.Generator().manual_seed(0))
    by_place, by_name = make(name), make(name)
    by_place.update(*inputs)
    by_name.update(**dict(zip(kind_of(name).inputs, inputs)))
    torch.testing.assert_close(by_place.metric_state, by_name.metric_state, rtol=0, atol=0, equal_nan=True)


def test_documentation_names_every_argument():
    for name in KINDS:
        metric = getattr(devsan.metrics, name)
        for argument in KINDS[name].arguments:
            assert f"    {argument.name}: " in metric.__doc__, name
        assert inspect.getdoc(metric.update) and metric.__module__ == f"devsan.metrics.{KINDS[name].domain}"
    for name in devsan.metrics.functional.__all__:
        assert getattr(devsan.metrics.functional, name).__doc__, name


def test_stubs_say_the_same():
    folder = Path(devsan.metrics.__file__).parent
    for module in ("aggregation", "classification", "detection", "functional", "image", "regression", "retrieval", "segmentation", "text"):
        stubs = ast.parse((folder / f"{module}.pyi").read_text())
        defined = {node.name: node for node in stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        package = getattr(devsan.metrics, module)
        assert set(defined) == set(package.__all__)
        for name, node in defined.items():
            entry = getattr(package, name)
            if isinstance(entry, type) and issubclass(entry, Metric):
                of_task = not hasattr(entry, "_kind")
                call = "__new__" if of_task else "__init__"
                node = next(item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == call)
                entry = getattr(entry, call)
            if isinstance(node, ast.FunctionDef):
                names = [item.arg for item in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
                assert names == list(inspect.signature(entry).parameters), name
    package = ast.parse((folder / "__init__.pyi").read_text())
    exported = {item.asname for node in package.body for item in node.names if isinstance(node, ast.ImportFrom) and item.asname}
    assert exported == set(devsan.metrics.__all__)


def test_options_are_shown():
    assert repr(make("MulticlassFBetaScore", average="micro")) == "MulticlassFBetaScore(beta=2.0, num_classes=5, average='micro')"
    assert all(repr(make(name, **options(name))).startswith(kind_of(name).name + "(") for name in NAMES)
