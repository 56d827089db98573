"""Results through the binding against scikit-learn, SciPy and TorchMetrics, in several updates and merged; and where
TorchMetrics is wrong."""

import itertools
import warnings

import numpy
import pytest
import scipy.linalg
import scipy.spatial
import scipy.special
import scipy.stats
import sklearn.metrics as sk
import torch
import torchmetrics
import torchmetrics.classification
import torchmetrics.functional.retrieval
import torchmetrics.image
import torchmetrics.regression
import torchmetrics.retrieval
import torchmetrics.text

import devsan.metrics as ours
from common import CLASSES, KINDS, assert_same, batch, options

AVERAGES = ("micro", "macro", "weighted", "none")


def in_parts(metric, *inputs, parts=3, merged=False):
    """The value of `metric` after as many updates; or of as many metrics, merged, of which one has seen nothing."""
    pieces = list(zip(*(tensor.tensor_split(parts) for tensor in inputs)))
    if not merged:
        for piece in pieces:
            metric.update(*piece)
        return metric.compute()
    others = [metric.clone() for _ in pieces]
    for other, piece in zip(others, pieces):
        other.update(*piece)
    for other in [*others, metric.clone()]:
        metric.merge_state(other)
    return metric.compute()


def check(metric, inputs, expected, rtol=1e-6, atol=1e-6):
    for merged in (False, True):
        metric.reset()
        assert_same(in_parts(metric, *inputs, merged=merged), expected, rtol, atol)


# Classes: TorchMetrics, over options.

STAT_SCORES = ("Accuracy", "Precision", "Recall", "F1Score", "FBetaScore", "Specificity", "NegativePredictiveValue",
               "HammingDistance", "StatScores", "JaccardIndex")  # fmt: skip
SHAPES = ((), (3,), (2, 2))


def scores(generator, n, width, shape, dtype):
    sizes = (n, *([width] if width else []), *shape)
    # Of three digits, so that no dtype but half rounds them across a threshold, and without ties in a row.
    return torch.rand(sizes, generator=generator, dtype=torch.float64).to(dtype)


def labels(generator, high, n, width, shape):
    return torch.randint(high, (n, *([width] if width else []), *shape), generator=generator)


def ignored(target, index, generator):
    return target if index is None else target.masked_fill(torch.rand(target.shape, generator=generator) < 0.3, index)


def classification_cases(task, name):
    """Options, with TorchMetrics' names, and inputs."""
    generator = torch.Generator().manual_seed(sum(map(ord, task + name)))
    averages = AVERAGES if task != "Binary" else (None,)
    for case, (average, index, shape) in enumerate(itertools.product(averages, (None, -1, 1), SHAPES)):
        given = {} if average is None else {"average": average}
        if index == 1 and (task != "Multiclass" or name == "JaccardIndex"):
            continue  # labels are 0 and 1; Jaccard: see the design page
        dtype = (torch.float32, torch.float64, torch.bfloat16)[case % 3]
        n = (9, 40, 150)[(case + case // 3) % 3]
        if task == "Multiclass":
            given["num_classes"] = CLASSES
            if name != "JaccardIndex" and case % 2:
                given["top_k"] = 2
                dtype = torch.float32  # half has ties, which every sort breaks differently
            preds = scores(generator, n, CLASSES, shape, dtype if given.get("top_k") else torch.float32)
            if case % 4 == 2:
                preds = labels(generator, CLASSES, n, None, shape)
            target = labels(generator, CLASSES, n, None, shape)
        else:
            width = CLASSES if task == "Multilabel" else None
            if width:
                given["num_labels"] = CLASSES
            given["threshold"] = (0.5, 0.3)[case % 2]
            preds = scores(generator, n, width, shape, dtype)
            if case % 5 == 4:
                preds = labels(generator, 2, n, width, shape)
            target = labels(generator, 2, n, width, shape)
        if name == "FBetaScore":
            given["beta"] = (0.5, 2.0)[case % 2]
        yield given | {"ignore_index": index}, preds, ignored(target, index, generator)


@pytest.mark.parametrize("name", STAT_SCORES)
@pytest.mark.parametrize("task", ("Binary", "Multiclass", "Multilabel"))
def test_stat_scores_as_in_torchmetrics(task, name):
    cases = list(classification_cases(task, name))
    assert len(cases) >= 6
    for given, preds, target in cases:
        expected = getattr(torchmetrics.classification, task + name)(**given)(preds, target)
        check(getattr(ours, task + name)(**given), (preds, target), expected)


@pytest.mark.parametrize("task", ("Binary", "Multiclass", "Multilabel"))
def test_matrices_as_in_torchmetrics(task):
    generator = torch.Generator().manual_seed(3)
    for shape, index, more in itertools.product(SHAPES, (None, -1), range(4)):
        width = CLASSES if task != "Binary" else None
        target = ignored(labels(generator, CLASSES if task == "Multiclass" else 2, 50, width if task == "Multilabel" else None, shape),
                         index, generator)  # fmt: skip
        preds = scores(generator, 50, width, shape, torch.float32)
        given = options(task + "ConfusionMatrix") | {"ignore_index": index}
        names = {"ConfusionMatrix": {"normalize": (None, "true", "pred", "all")[more]}, "MatthewsCorrCoef": {}}
        if task != "Multilabel":
            names["CohenKappa"] = {"weights": (None, "linear", "quadratic", "none")[more]}
        for name, option in names.items():
            expected = getattr(torchmetrics.classification, task + name)(**given, **option)(preds, target)
            check(getattr(ours, task + name)(**given, **option), (preds, target), expected)


@pytest.mark.parametrize("task", ("Multiclass", "Multilabel"))
def test_exact_match_as_in_torchmetrics(task):
    generator = torch.Generator().manual_seed(4)
    given = options(task + "ExactMatch")
    for n, index in itertools.product((5, 60), (None, 0, -1)):
        target = labels(generator, 2, n, CLASSES if task == "Multilabel" else None, (3,))
        preds = torch.where(torch.rand(target.shape, generator=generator) < 0.9, target, 1 - target)
        target = ignored(target, index, generator)
        target[0] = target[0] if index is None else index
        for how in ("global", "samplewise"):
            given |= {"multidim_average": how, "ignore_index": index}
            expected = getattr(torchmetrics.classification, task + "ExactMatch")(**given)(preds, target)
            check(getattr(ours, task + "ExactMatch")(**given), (preds, target), expected)


CURVES = ("PrecisionRecallCurve", "ROC", "AUROC", "AveragePrecision", "RecallAtFixedPrecision", "SensitivityAtSpecificity", "EER")


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("task", ("Binary", "Multiclass", "Multilabel"))
def test_curves_as_in_torchmetrics(task, name):
    generator = torch.Generator().manual_seed(5)
    for thresholds, index, more in itertools.product((7, [0.1, 0.4, 0.45, 0.9]), (None, -1), range(3)):
        given = options(task + name) | {"thresholds": thresholds, "ignore_index": index}
        if name in ("AUROC", "AveragePrecision") and task != "Binary":
            given["average"] = (("macro", "weighted", "none") if task == "Multiclass" else ("micro", "macro", "none"))[more]
        elif name == "AUROC":
            given["max_fpr"] = (None, 0.5, 0.9)[more]
        width = CLASSES if task != "Binary" else None
        preds = scores(generator, 80, width, (), torch.float32)
        preds = preds.softmax(1) if task == "Multiclass" else preds
        target = labels(generator, CLASSES if task == "Multiclass" else 2, 80, width if task == "Multilabel" else None, ())
        target = ignored(target, index, generator)
        expected = getattr(torchmetrics.classification, task + name)(**given)(preds, target)
        if isinstance(expected, tuple):
            expected = tuple(map(torch.as_tensor, expected))
        if name == "PrecisionRecallCurve":  # precision of no predictions: NaN, which TorchMetrics has as 1
            metric = getattr(ours, task + name)(**given)
            metric.update(preds, target)
            precision, recall, at = metric.compute()
            assert_same((precision.nan_to_num(1.0), recall, at), tuple(x.nan_to_num(1.0) for x in expected))
        else:
            check(getattr(ours, task + name)(**given), (preds, target), expected)


# Classes: scikit-learn.

SK_AVERAGES = {"micro": "micro", "macro": "macro", "weighted": "weighted", "none": None}


@pytest.mark.parametrize("average", AVERAGES)
def test_multiclass_as_in_scikit_learn(average):
    generator = torch.Generator().manual_seed(6)
    for n, index in itertools.product((30, 400), (None, 2)):
        preds = scores(generator, n, CLASSES, (), torch.float64)
        target = torch.cat([torch.arange(CLASSES), labels(generator, CLASSES, n - CLASSES, None, ())])
        kept = target != (-7 if index is None else index)
        y, p = target[kept].numpy(), preds.argmax(1)[kept].numpy()
        # An ignored class may still be predicted; its precision counts, as everywhere, so it is compared without macro.
        if index is not None and average != "micro":
            continue
        given = {"num_classes": CLASSES, "average": average, "ignore_index": index}
        found = {"labels": range(CLASSES), "average": SK_AVERAGES[average], "zero_division": 0}
        for name, expected in (
            ("Precision", sk.precision_score(y, p, **found)),
            ("Recall", sk.recall_score(y, p, **found)),
            ("F1Score", sk.f1_score(y, p, **found)),
            ("Dice", sk.f1_score(y, p, **found)),
            ("JaccardIndex", sk.jaccard_score(y, p, **found)),
        ):
            if index is not None and name == "JaccardIndex":
                continue
            check(getattr(ours, "Multiclass" + name)(**given), (preds, target), torch.as_tensor(expected))
        fbeta = sk.fbeta_score(y, p, beta=0.7, **found)
        check(ours.MulticlassFBetaScore(beta=0.7, **given), (preds, target), torch.as_tensor(fbeta))
    if average == "macro":
        check(ours.MulticlassAccuracy(CLASSES), (preds, target), torch.tensor(sk.balanced_accuracy_score(target, preds.argmax(1))))
    if average == "micro":
        check(ours.MulticlassAccuracy(CLASSES, average="micro", top_k=3), (preds, target),
              torch.tensor(sk.top_k_accuracy_score(target, preds, k=3)))  # fmt: skip


def test_exact_match_as_in_scikit_learn():
    generator = torch.Generator().manual_seed(4)
    target = labels(generator, 2, 200, CLASSES, ())
    preds = torch.where(torch.rand(target.shape, generator=generator) < 0.8, target, 1 - target)
    for index in (0, 1):
        agreeing = torch.where(target == index, target, preds)
        assert (target == index).all(1).any()
        check(ours.MultilabelExactMatch(CLASSES, ignore_index=index), (preds, target), torch.tensor(sk.accuracy_score(target, agreeing)))


def test_agreement_as_in_scikit_learn():
    generator = torch.Generator().manual_seed(7)
    preds, target = labels(generator, CLASSES, 300, None, ()), labels(generator, CLASSES, 300, None, ())
    preds = torch.where(torch.rand(300, generator=generator) < 0.5, preds, target)
    for weights in (None, "linear", "quadratic"):
        check(ours.MulticlassCohenKappa(CLASSES, weights=weights), (preds, target),
              torch.tensor(sk.cohen_kappa_score(target, preds, weights=weights)))  # fmt: skip
    check(ours.MulticlassMatthewsCorrCoef(CLASSES), (preds, target), torch.tensor(sk.matthews_corrcoef(target, preds)))
    for normalize in (None, "true", "pred", "all"):
        check(ours.MulticlassConfusionMatrix(CLASSES, normalize=normalize), (preds, target),
              torch.as_tensor(sk.confusion_matrix(target, preds, normalize=normalize)))  # fmt: skip
    check(ours.MultilabelHammingDistance(CLASSES, average="micro"),
          (preds.unsqueeze(1) == torch.arange(CLASSES), target.unsqueeze(1) == torch.arange(CLASSES)),
          torch.tensor(sk.hamming_loss(numpy.eye(CLASSES)[target], numpy.eye(CLASSES)[preds])))  # fmt: skip


def test_areas_at_every_score_as_in_scikit_learn():
    generator = torch.Generator().manual_seed(8)
    preds = torch.randint(1, 100, (500,), generator=generator) / 100
    target = (torch.rand(500, generator=generator) < preds).long()
    thresholds = [0.0, *sorted(set(preds.tolist())), 1.0]
    check(ours.BinaryAUROC(thresholds=thresholds), (preds, target), torch.tensor(sk.roc_auc_score(target, preds)))
    check(ours.BinaryAUROC(max_fpr=0.3, thresholds=thresholds), (preds, target),
          torch.tensor(sk.roc_auc_score(target, preds, max_fpr=0.3)))  # fmt: skip
    check(ours.BinaryAveragePrecision(thresholds), (preds, target), torch.tensor(sk.average_precision_score(target, preds)))


def test_logits_are_said():
    logits, target = torch.tensor([-3.0, 0.5, 2.0, -0.1]), torch.tensor([0, 1, 1, 1])
    with pytest.raises(RuntimeError, match="no probability in \\[0, 1\\]"):
        ours.BinaryAccuracy(from_logits=False).update(logits, target)
    assert ours.BinaryAccuracy(from_logits=True)(logits, target) == torchmetrics.classification.BinaryAccuracy()(logits, target)
    probabilities = ours.BinaryROC(5)(logits.sigmoid(), target)
    assert_same(ours.BinaryROC(5, from_logits=True)(logits, target), probabilities)


# Real numbers: scikit-learn and SciPy, in float64 and in float32.


def real_references():
    def columns(function):
        return lambda x, y: numpy.stack([function(x[:, i], y[:, i]) for i in range(x.shape[1])])

    def rows(function, reduce):
        return lambda x, y: reduce([function(a, b) for a, b in zip(x, y)])

    def concordance(x, y, ddof):
        c = numpy.cov(x, y, ddof=ddof)
        return 2 * c[0, 1] / (c[0, 0] + c[1, 1] + (x.mean() - y.mean()) ** 2)

    def kl(x, y):
        return scipy.stats.entropy(x, y)

    def js(x, y):
        return scipy.spatial.distance.jensenshannon(x, y) ** 2

    def cosine(x, y):
        return 1 - scipy.spatial.distance.cosine(x, y)

    raw = {"multioutput": "raw_values"}
    yield "MeanSquaredError", {}, 1, lambda x, y: sk.mean_squared_error(y, x)
    yield "MeanSquaredError", {"squared": False}, 1, lambda x, y: sk.root_mean_squared_error(y, x)
    yield "MeanSquaredError", {"num_outputs": 3}, 3, lambda x, y: sk.mean_squared_error(y, x, **raw)
    yield "MeanAbsoluteError", {}, 1, lambda x, y: sk.mean_absolute_error(y, x)
    yield "MeanAbsoluteError", {"num_outputs": 3}, 3, lambda x, y: sk.mean_absolute_error(y, x, **raw)
    yield "MeanAbsolutePercentageError", {}, 1, lambda x, y: sk.mean_absolute_percentage_error(y, x)
    yield "SymmetricMeanAbsolutePercentageError", {}, 1, lambda x, y: (2 * abs(x - y) / (abs(x) + abs(y))).mean()
    yield "WeightedMeanAbsolutePercentageError", {}, 1, lambda x, y: abs(x - y).sum() / abs(y).sum()
    yield "MeanSquaredLogError", {}, 1, lambda x, y: sk.mean_squared_log_error(y, x)
    yield "LogCoshError", {}, 1, lambda x, y: numpy.log(numpy.cosh(x - y)).mean()
    for power in (0, 1, 1.5, 2, 3):
        yield "TweedieDevianceScore", {"power": power}, 1, lambda x, y, power=power: sk.mean_tweedie_deviance(y, x, power=power)
    yield "R2Score", {}, 1, lambda x, y: sk.r2_score(y, x)
    yield "R2Score", {"adjusted": 3}, 1, lambda x, y: 1 - (1 - sk.r2_score(y, x)) * (len(x) - 1) / (len(x) - 4)
    for multioutput in ("raw_values", "uniform_average", "variance_weighted"):
        several = {"num_outputs": 3, "multioutput": multioutput}
        yield "R2Score", several, 3, lambda x, y, m=multioutput: sk.r2_score(y, x, multioutput=m)
        yield "ExplainedVariance", several, 3, lambda x, y, m=multioutput: sk.explained_variance_score(y, x, multioutput=m)
    yield "PearsonCorrCoef", {}, 1, lambda x, y: scipy.stats.pearsonr(x, y)[0]
    yield "PearsonCorrCoef", {"num_outputs": 3}, 3, columns(lambda x, y: scipy.stats.pearsonr(x, y)[0])
    yield "ConcordanceCorrCoef", {}, 1, lambda x, y: concordance(x, y, 1)
    yield "ConcordanceCorrCoef", {"unbiased": False}, 1, lambda x, y: concordance(x, y, 0)
    yield "SpearmanCorrCoef", {}, 1, lambda x, y: scipy.stats.spearmanr(x, y)[0]
    yield "SpearmanCorrCoef", {"num_outputs": 3}, 3, columns(lambda x, y: scipy.stats.spearmanr(x, y)[0])
    for variant in "bc":
        yield "KendallRankCorrCoef", {"variant": variant}, 1, lambda x, y, v=variant: scipy.stats.kendalltau(x, y, variant=v)[0]
    for side in ("two-sided", "less", "greater"):
        test = {"t_test": True, "alternative": side}
        yield "KendallRankCorrCoef", test, 1, lambda x, y, s=side: tuple(scipy.stats.kendalltau(x, y, method="asymptotic", alternative=s))
    yield "CosineSimilarity", {}, 4, rows(cosine, numpy.sum)
    yield "CosineSimilarity", {"reduction": "mean"}, 4, rows(cosine, numpy.mean)
    yield "KLDivergence", {}, 4, rows(kl, numpy.mean)
    yield "KLDivergence", {"reduction": "sum"}, 4, rows(kl, numpy.sum)
    yield "JensenShannonDivergence", {}, 4, rows(js, numpy.mean)


@pytest.mark.parametrize("name, given, width, reference", [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(real_references())])
def test_real_numbers(name, given, width, reference):
    generator = torch.Generator().manual_seed(9)
    for n, dtype in itertools.product((17, 300), (torch.float64, torch.float32)):
        sizes = (n,) if width == 1 else (n, width)
        target = torch.rand(sizes, generator=generator, dtype=torch.float64) * 3 + 0.1
        preds = (target + torch.randn(sizes, generator=generator, dtype=torch.float64) * 0.4).clamp(min=0.05)
        preds, target = preds.to(dtype), target.to(dtype)
        expected = reference(preds.double().numpy(), target.double().numpy())
        expected = tuple(map(torch.as_tensor, expected)) if isinstance(expected, tuple) else torch.as_tensor(expected)
        result = torch.float64 if dtype == torch.float64 else torch.float32
        tolerance = 1e-6 if dtype == torch.float64 else 1e-4
        metric = getattr(ours, name)(**given, dtype=result)
        check(metric, (preds, target), expected, rtol=tolerance, atol=tolerance)
        value = metric.compute()
        assert (value[0] if isinstance(value, tuple) else value).dtype == result
        if n == 17:
            function = metric._kind.function
            assert_same(getattr(ours.functional, function)(preds, target, **given, dtype=result), value, 1e-6, 1e-6)


# Values alone.


def test_aggregators():
    generator = torch.Generator().manual_seed(10)
    values = torch.randn(50, generator=generator, dtype=torch.float64)
    weights = torch.rand(50, generator=generator, dtype=torch.float64)
    double = {"dtype": torch.float64}
    check(ours.MeanMetric(**double), (values,), values.mean())
    check(ours.MeanMetric(**double), (values, weights), torch.tensor(numpy.average(values, weights=weights)))
    check(ours.SumMetric(**double), (values,), values.sum())
    check(ours.MaxMetric(**double), (values,), values.max())
    check(ours.MinMetric(**double), (values,), values.min())
    check(ours.CatMetric(), (values,), values)
    for number, metric in ((3, ours.RunningMean(window=3)), (6, ours.RunningSum(window=3))):
        for i in range(5):
            metric.update(float(i))
        assert metric.compute() == (number if number == 3 else 9)


def test_aggregators_take_what_torchmetrics_takes():
    for value in (2, 2.0, torch.tensor(2), [1.0, 2.0], numpy.float32(2), numpy.array([2.0, 3.0])):
        for name in ("MeanMetric", "SumMetric", "MaxMetric", "MinMetric", "CatMetric"):
            expected = getattr(torchmetrics, name)()
            expected.update(value)
            metric = getattr(ours, name)()
            metric.update(value)
            assert_same(metric.compute().squeeze(), expected.compute().squeeze())
    for value, weight in ((2.0, 3.0), (torch.ones(2), 2.0), (torch.tensor([1.0, 4.0]), torch.tensor([3.0, 1.0])), (2.0, torch.tensor(3.0))):
        expected, metric = torchmetrics.MeanMetric(), ours.MeanMetric()
        for either in (expected, metric):
            either.update(7.0, weight=0.5)
            either.update(value, weight)
        assert_same(metric.compute(), expected.compute())


@pytest.mark.parametrize("name", ("MeanMetric", "SumMetric", "MaxMetric", "MinMetric", "CatMetric"))
def test_nan_strategies_as_in_torchmetrics(name):
    values = torch.tensor([3.0, float("nan"), -1.0])
    for strategy in ("ignore", "warn", 2.5):
        expected, metric = getattr(torchmetrics, name)(strategy), getattr(ours, name)(strategy)
        for either in (expected, metric):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                either.update(values.clone())  # TorchMetrics replaces NaN in it
                value = either.compute()
            assert bool(seen) == (strategy == "warn") or name == "CatMetric"
        assert_same(value, expected.compute())
    with pytest.raises(RuntimeError, match=f"{name}: Encountered `nan` values in tensor: 1 (of 3|values)"):
        getattr(ours, name)("error").update(values)


# Where TorchMetrics is wrong.


def test_r2_of_a_large_mean():
    generator = torch.Generator().manual_seed(11)
    target = torch.randn(10_000, generator=generator, dtype=torch.float64)
    preds = target + 0.3 * torch.randn(10_000, generator=generator, dtype=torch.float64)
    preds, target = (preds + 1e4).float(), (target + 1e4).float()
    expected = sk.r2_score(target.double(), preds.double())
    metric, other = ours.R2Score(), torchmetrics.regression.R2Score()
    metric.update(preds, target)
    other.update(preds, target)
    assert abs(metric.compute() - expected) < 1e-5
    assert abs(other.compute() - expected) > 1e-2


@pytest.mark.parametrize("spread", (1e-4, 1e-6, 0.0))
def test_targets_that_are_constant_or_nearly(spread):
    """What varies is no constant, however little: the score is that of the definition, which TorchMetrics calls 0."""
    generator = torch.Generator().manual_seed(12)
    target = (5 + spread * torch.randn(64, generator=generator)).double()
    preds = target + 0.3 * torch.randn(64, generator=generator).double()
    double = {"dtype": torch.float64}
    for dtype in (torch.float64, torch.float32):  # both hold the target
        given = preds.to(dtype), target.to(dtype)
        x, y = (tensor.double().numpy() for tensor in given)
        for name, expected in (
            ("R2Score", sk.r2_score(y, x)),
            ("ExplainedVariance", sk.explained_variance_score(y, x)),
            ("PearsonCorrCoef", scipy.stats.pearsonr(x, y)[0] if spread else numpy.nan),
            ("SpearmanCorrCoef", scipy.stats.spearmanr(x, y)[0] if spread else numpy.nan),
            ("KendallRankCorrCoef", scipy.stats.kendalltau(x, y)[0] if spread else numpy.nan),
            ("MeanSquaredError", sk.mean_squared_error(y, x)),
        ):
            check(getattr(ours, name)(**double), given, torch.tensor(expected, dtype=torch.float64), rtol=1e-5, atol=1e-9)


def test_counts_beyond_what_float32_holds():
    metric, other = ours.SumMetric(dtype=torch.float64), torchmetrics.SumMetric()
    for either in (metric, other):
        either.update(torch.tensor(2.0**24))
        for _ in range(10):
            either.update(torch.tensor(1.0))
    assert metric.compute() == 2**24 + 10 and other.compute() == 2**24


def test_targets_out_of_range():
    preds, target = torch.tensor([0, 1, 2]), torch.tensor([0, 1, 9])
    unchecked = torchmetrics.classification.MulticlassAccuracy(3, average="micro", validate_args=False)
    try:
        assert unchecked(preds, target) in (torch.tensor(2 / 3), torch.tensor(1.0))  # a number, whatever 9 was taken for
    except (RuntimeError, IndexError) as error:
        assert "9" not in str(error)  # or an error that does not say
    metric = ours.MulticlassAccuracy(3, average="micro", validate_args=False)
    metric.update(preds, target)
    with pytest.raises(RuntimeError, match="1 samples had a target .* and were left out"):
        metric.compute()
    with pytest.raises(RuntimeError, match="1 of 3 samples have a target"):
        ours.MulticlassAccuracy(3).update(preds, target)


def test_functional_forms_are_the_metrics():
    generator = torch.Generator().manual_seed(12)
    for name, kind in KINDS.items():
        if not kind.function or kind.of_images:  # those are of each image
            continue
        inputs = batch(name, 30, generator)
        if kind.domain == "retrieval":  # the functional forms are of one query
            inputs = (*inputs[:2], torch.zeros(30, dtype=torch.long))
        expected = getattr(ours, name)(**options(name))
        expected.update(*inputs)
        assert_same(getattr(ours.functional, kind.function)(*inputs[:2], **options(name)), expected.compute(), 0, 0)
    preds, target = batch("MulticlassAccuracy", 30, generator)
    by_task = ours.functional.accuracy(preds, target, task="multiclass", num_classes=CLASSES)
    assert by_task == ours.MulticlassAccuracy(CLASSES, average="micro")(preds, target)


# Curves of all scores.


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("task", ("Binary", "Multiclass", "Multilabel"))
def test_exact_curves_as_in_torchmetrics(task, name):
    generator = torch.Generator().manual_seed(13)
    width = CLASSES if task != "Binary" else None
    preds = scores(generator, 60, width, (), torch.float32)
    preds = preds.softmax(1) if task == "Multiclass" else (preds * 20).round() / 20  # with ties
    target = labels(generator, CLASSES if task == "Multiclass" else 2, 60, width if task == "Multilabel" else None, ())
    given = options(task + name + " exact")
    expected = getattr(torchmetrics.classification, task + name)(**given)(preds, target)
    metric = getattr(ours, task + name)(**given)
    assert type(metric(preds, target)).__name__ in ("Tensor", name + "Result")
    if isinstance(expected, list):  # of EER, a number for each class
        expected = torch.stack(expected)
    check(metric, (preds, target), expected, rtol=1e-5, atol=1e-5)


# Losses of scores, and weights: scikit-learn.


def test_losses_as_in_scikit_learn():
    generator = torch.Generator().manual_seed(14)
    preds = torch.rand(80, CLASSES, generator=generator, dtype=torch.float64).softmax(1)
    target = torch.cat([torch.arange(CLASSES), labels(generator, CLASSES, 75, None, ())])
    chance, yes = torch.rand(80, generator=generator, dtype=torch.float64), labels(generator, 2, 80, None, ())
    weight = torch.rand(80, generator=generator, dtype=torch.float64)
    for weights in (None, weight):
        more = () if weights is None else (weights,)
        sample = None if weights is None else weights.numpy()
        for metric, inputs, expected in (
            (ours.BinaryLogLoss(dtype=torch.float64), (chance, yes), sk.log_loss(yes, chance, sample_weight=sample)),
            (ours.MulticlassLogLoss(CLASSES, dtype=torch.float64), (preds, target), sk.log_loss(target, preds, sample_weight=sample)),
            (ours.BinaryBrierScore(dtype=torch.float64), (chance, yes), sk.brier_score_loss(yes, chance, sample_weight=sample)),
            (ours.BinaryHingeLoss(dtype=torch.float64), (chance, yes), sk.hinge_loss(yes, chance, sample_weight=sample)),
            (ours.MulticlassHingeLoss(CLASSES, dtype=torch.float64), (preds, target),
             sk.hinge_loss(target, preds, sample_weight=sample)),
            (ours.MeanSquaredError(dtype=torch.float64), (chance, weight), sk.mean_squared_error(weight, chance, sample_weight=sample)),
            (ours.MeanAbsoluteError(dtype=torch.float64), (chance, weight), sk.mean_absolute_error(weight, chance, sample_weight=sample)),
        ):  # fmt: skip
            check(metric, (*inputs, *more), torch.tensor(expected))
    # Hinge losses are of decision values, of any size; the others are told of logits.
    logits, decisions = torch.randn(80, CLASSES, generator=generator, dtype=torch.float64), torch.randn(80, generator=generator)
    chances, odds = logits.softmax(1), decisions.sigmoid()
    for metric, inputs, expected in (
        (ours.MulticlassHingeLoss(CLASSES, from_logits=False), (logits, target), sk.hinge_loss(target, logits)),
        (ours.MulticlassHingeLoss(CLASSES, from_logits=True), (logits, target), sk.hinge_loss(target, chances)),
        (ours.BinaryHingeLoss(from_logits=False), (decisions, yes), sk.hinge_loss(yes, decisions)),
        (ours.MulticlassLogLoss(CLASSES, from_logits=True), (logits, target), sk.log_loss(target, chances)),
        (ours.BinaryLogLoss(from_logits=True), (decisions, yes), sk.log_loss(yes, odds)),
        (ours.BinaryBrierScore(from_logits=True), (decisions, yes), sk.brier_score_loss(yes, odds)),
    ):
        check(metric, inputs, torch.tensor(expected))
    brier = ((preds - torch.nn.functional.one_hot(target)) ** 2).sum(1).mean()
    check(ours.MulticlassBrierScore(CLASSES, dtype=torch.float64), (preds, target), brier)
    by_function = ours.functional.binary_log_loss(chance, yes, weight=weight, dtype=torch.float64)
    assert_same(by_function, torch.tensor(sk.log_loss(yes, chance, sample_weight=weight)))


# Weights of samples in counts: scikit-learn.


@pytest.mark.parametrize("average", AVERAGES)
def test_weighted_counts_as_in_scikit_learn(average):
    generator = torch.Generator().manual_seed(16)
    preds = scores(generator, 200, CLASSES, (), torch.float64)
    target = torch.cat([torch.arange(CLASSES), labels(generator, CLASSES, 200 - CLASSES, None, ())])
    weight = torch.rand(200, generator=generator, dtype=torch.float64)
    y, p, w = target.numpy(), preds.argmax(1).numpy(), weight.numpy()
    found = {"labels": range(CLASSES), "average": SK_AVERAGES[average], "zero_division": 0, "sample_weight": w}
    for name, expected in (
        ("Precision", sk.precision_score(y, p, **found)),
        ("Recall", sk.recall_score(y, p, **found)),
        ("F1Score", sk.f1_score(y, p, **found)),
        ("JaccardIndex", sk.jaccard_score(y, p, **found)),
    ):
        metric = getattr(ours, "Multiclass" + name)(CLASSES, average=average, weighted=True)
        check(metric, (preds, target, weight), torch.as_tensor(expected))
    several = (torch.rand(200, CLASSES, generator=generator, dtype=torch.float64) * 20).round() / 20
    wanted = labels(generator, 2, 200, None, (CLASSES,))
    for name, function in (("AUROC", sk.roc_auc_score), ("AveragePrecision", sk.average_precision_score)):
        expected = function(wanted, several, average=SK_AVERAGES[average], sample_weight=w)
        metric = getattr(ours, "Multilabel" + name)(CLASSES, average=average, weighted=True)
        check(metric, (several, wanted, weight), torch.as_tensor(expected))
        by_function = getattr(ours.functional, f"multilabel_{'auroc' if name == 'AUROC' else 'average_precision'}")
        assert_same(by_function(several, wanted, CLASSES, average=average, weight=weight), torch.as_tensor(expected))


def test_weighted_agreement_and_areas_as_in_scikit_learn():
    generator = torch.Generator().manual_seed(17)
    preds, target = (labels(generator, CLASSES, 300, None, ()) for _ in range(2))
    preds = torch.where(torch.rand(300, generator=generator) < 0.5, preds, target)
    weight = torch.rand(300, generator=generator, dtype=torch.float64)
    weight[:20] = 0
    w = weight.numpy()
    chance, yes = (torch.rand(300, generator=generator, dtype=torch.float64) * 30).round() / 30, labels(generator, 2, 300, None, ())
    for metric, inputs, expected in (
        (ours.MulticlassAccuracy(CLASSES, average="micro", weighted=True), (preds, target), sk.accuracy_score(target, preds, sample_weight=w)),
        (ours.MulticlassAccuracy(CLASSES, weighted=True), (preds, target), sk.balanced_accuracy_score(target, preds, sample_weight=w)),
        (ours.MulticlassMatthewsCorrCoef(CLASSES, weighted=True), (preds, target), sk.matthews_corrcoef(target, preds, sample_weight=w)),
        (ours.MulticlassCohenKappa(CLASSES, weights="quadratic", weighted=True), (preds, target),
         sk.cohen_kappa_score(target, preds, weights="quadratic", sample_weight=w)),
        (ours.MulticlassConfusionMatrix(CLASSES, weighted=True), (preds, target), sk.confusion_matrix(target, preds, sample_weight=w)),
        (ours.MulticlassConfusionMatrix(CLASSES, normalize="true", weighted=True), (preds, target),
         sk.confusion_matrix(target, preds, normalize="true", sample_weight=w)),
        (ours.BinaryF1Score(weighted=True), (chance, yes), sk.f1_score(yes, chance > 0.5, sample_weight=w)),
        (ours.BinaryHammingDistance(weighted=True), (chance, yes), sk.hamming_loss(yes, chance > 0.5, sample_weight=w)),
        (ours.BinaryAUROC(weighted=True), (chance, yes), sk.roc_auc_score(yes, chance, sample_weight=w)),
        (ours.BinaryAUROC(max_fpr=0.2, weighted=True), (chance, yes), sk.roc_auc_score(yes, chance, max_fpr=0.2, sample_weight=w)),
        (ours.BinaryAveragePrecision(weighted=True), (chance, yes), sk.average_precision_score(yes, chance, sample_weight=w)),
        (ours.BinaryAveragePrecision(thresholds=31, weighted=True), (chance.float().double(), yes),
         sk.average_precision_score(yes, chance, sample_weight=w)),
    ):  # fmt: skip
        check(metric, (*inputs, weight), torch.as_tensor(expected), rtol=1e-5, atol=1e-5)
    precision, recall, _ = sk.precision_recall_curve(yes, chance, sample_weight=w)
    curve = ours.functional.binary_precision_recall_curve(chance, yes, weight=weight)
    assert_same(tuple(curve)[:2], (torch.as_tensor(precision), torch.as_tensor(recall)))
    with pytest.raises(RuntimeError, match="make the metric with weighted"):
        ours.BinaryAccuracy().update(chance, yes, weight)
    assert ours.functional.binary_accuracy(torch.tensor([1, 1]), torch.tensor([1, 0]), weight=torch.tensor([3.0, 1.0])) == 0.75


@pytest.mark.parametrize("task", ["Binary", "Multiclass", "Multilabel"])
def test_scores_of_each_sample_as_in_torchmetrics(task):
    generator = torch.Generator().manual_seed(18)
    width = 0 if task == "Binary" else CLASSES
    for shape, index, average in itertools.product(((7,), (2, 3)), (None, 1), AVERAGES if width else ("",)):
        high = CLASSES if task == "Multiclass" else 2
        inputs = []
        for n in (4, 2, 6):  # of one sample TorchMetrics' results have no dimension for it
            preds = scores(generator, n, width, shape, torch.float32)
            sizes = (*((width,) if task == "Multilabel" else ()), *shape)
            inputs.append((preds, torch.randint(high, (n, *sizes), generator=generator)))
        for name in ("Accuracy", "Precision", "Recall", "F1Score", "FBetaScore", "Specificity", "NegativePredictiveValue",
                     "HammingDistance", "StatScores"):  # fmt: skip
            if name == "StatScores" and average == "weighted":
                continue  # TorchMetrics divides by the weights of all samples
            for top_k in (1, 2) if task == "Multiclass" else (None,):
                given = {"multidim_average": "samplewise", "ignore_index": index}
                given |= {"average": average} if width else {}
                given |= {"num_classes": CLASSES} if task == "Multiclass" else {"num_labels": CLASSES} if width else {}
                given |= {"top_k": top_k} if top_k else {}
                given |= {"beta": 0.7} if name == "FBetaScore" else {}
                metric, other = (getattr(lib, task + name)(**given) for lib in (ours, torchmetrics.classification))
                merged = getattr(ours, task + name)(**given)
                for number, batch_ in enumerate(inputs):
                    (merged if number == 2 else metric).update(*batch_)
                    other.update(*batch_)
                metric.merge_state(merged)
                assert metric.compute().shape[0] == 12
                assert_same(metric.compute(), other.compute(), 1e-5, 1e-6)
    with pytest.raises(RuntimeError, match="there has to be a dimension more"):
        metric.update(*(tensor.select(-1, 0).select(-1, 0) for tensor in inputs[0]))


def test_losses_as_in_torchmetrics():
    generator = torch.Generator().manual_seed(15)
    preds = torch.rand(90, CLASSES, generator=generator).softmax(1)
    target, yes = labels(generator, CLASSES, 90, None, ()), labels(generator, 2, 90, None, ())
    chance = torch.rand(90, generator=generator)
    for norm, bins in itertools.product(("l1", "l2", "max"), (5, 15)):
        for name, given, inputs in (
            ("BinaryCalibrationError", {}, (chance, yes)),
            ("MulticlassCalibrationError", {"num_classes": CLASSES}, (preds, target)),
        ):
            given = given | {"norm": norm, "n_bins": bins}
            expected = getattr(torchmetrics.classification, name)(**given)(*inputs)
            check(getattr(ours, name)(**given), inputs, expected, 1e-5, 1e-6)
    for squared, mode in itertools.product((False, True), ("crammer-singer", "one-vs-all")):
        given = {"num_classes": CLASSES, "squared": squared, "multiclass_mode": mode}
        check(ours.MulticlassHingeLoss(**given), (preds, target), torchmetrics.classification.MulticlassHingeLoss(**given)(preds, target))
    logits, tokens = torch.randn(6, 7, CLASSES, generator=generator), labels(generator, CLASSES, 6, None, (7,))
    for index in (None, 2):
        check(ours.Perplexity(ignore_index=index), (logits, tokens), torchmetrics.text.Perplexity(ignore_index=index)(logits, tokens), 1e-5)


# Rankings.

RANKINGS = ("MAP", "MRR", "Precision", "Recall", "RPrecision", "HitRate", "FallOut", "NormalizedDCG")


@pytest.mark.parametrize("name", ["Retrieval" + name for name in RANKINGS])
def test_rankings_as_in_torchmetrics(name):
    generator = torch.Generator().manual_seed(16)
    n = 120
    preds, target, indexes = torch.rand(n, generator=generator), labels(generator, 2, n, None, ()), labels(generator, 25, n, None, ())
    target = target & (torch.rand(n, generator=generator) < 0.5)  # so that some queries have none
    for top_k, action, aggregation in itertools.product((None, 2), ("neg", "pos", "skip"), ("mean", "median", "min", "max")):
        given = {"empty_target_action": action, "aggregation": aggregation} | ({"top_k": top_k} if name != "RetrievalRPrecision" else {})
        expected = getattr(torchmetrics.retrieval, name)(**given)(preds, target, indexes)
        check(getattr(ours, name)(**given), (preds, target, indexes), expected)
    kind = KINDS[name]
    one = getattr(torchmetrics.functional.retrieval, kind.function)(preds[:9], target[:9])
    assert_same(getattr(ours.functional, kind.function)(preds[:9], target[:9]), one)


def test_rankings_of_equal_scores_as_in_scikit_learn():
    generator = torch.Generator().manual_seed(19)
    for n, different in itertools.product((2, 7, 40), (1, 3, 8)):
        preds = torch.randint(different, (n,), generator=generator) / 8.0 - 0.25
        target = labels(generator, 2, n, None, ())
        target[:2] = torch.tensor([1, 0])
        one = torch.zeros(n, dtype=torch.int64)
        one[n // 2] = 1
        for order in (torch.arange(n), torch.arange(n).flip(0), torch.randperm(n, generator=generator)):
            p, t, o = preds[order], target[order], one[order]
            assert_same(ours.functional.retrieval_average_precision(p, t), torch.tensor(sk.average_precision_score(t, p)))
            assert_same(ours.functional.retrieval_normalized_dcg(p, t), torch.tensor(sk.ndcg_score(t[None], p[None])))
            ranking = sk.label_ranking_average_precision_score(o[None], p[None])
            assert_same(ours.functional.retrieval_reciprocal_rank(p, o), torch.tensor(ranking))


# Images.


def test_images_as_in_torchmetrics():
    generator = torch.Generator().manual_seed(17)
    target = torch.rand(5, 3, 24, 20, generator=generator)
    preds = (target + 0.2 * torch.randn(target.shape, generator=generator)).clamp(0, 1)
    for name, given in (
        ("PeakSignalNoiseRatio", {"data_range": 1.0}),
        ("PeakSignalNoiseRatio", {"data_range": (0.2, 0.9), "base": 2.0}),
        ("PeakSignalNoiseRatio", {"data_range": 1.0, "dim": (1, 2, 3), "reduction": "none"}),
        ("StructuralSimilarityIndexMeasure", {"data_range": 1.0}),
        ("StructuralSimilarityIndexMeasure", {"data_range": 1.0, "gaussian_kernel": False, "kernel_size": (3, 5)}),
        ("StructuralSimilarityIndexMeasure", {"data_range": 1.0, "reduction": "none", "sigma": 0.8}),
        ("StructuralSimilarityIndexMeasure", {"data_range": 1.0, "reduction": None, "return_full_image": True}),
        ("MultiScaleStructuralSimilarityIndexMeasure", {"data_range": 1.0, "sigma": 0.5, "kernel_size": 3, "betas": (0.3, 0.3, 0.4)}),
        ("MultiScaleStructuralSimilarityIndexMeasure",
         {"data_range": 1.0, "sigma": 0.5, "kernel_size": 3, "betas": (0.5, 0.5), "normalize": "simple"}),
    ):  # fmt: skip
        other = getattr(torchmetrics.image, name)(**given)
        other.update(preds, target)
        check(getattr(ours, name)(**given), (preds, target), other.compute(), 1e-4, 1e-5)


def test_frechet_distance():
    generator = torch.Generator().manual_seed(18)
    real, fake = torch.randn(40, 6, generator=generator), torch.randn(50, 6, generator=generator) + 0.3
    metric = ours.FrechetInceptionDistance(6)
    for features, is_real in ((real, True), (fake[:20], False), (fake[20:], False)):
        metric.update(features, real=is_real)
    a, b = numpy.cov(real.double().numpy().T), numpy.cov(fake.double().numpy().T)
    root = numpy.trace(scipy.linalg.sqrtm(a @ b).real)
    mean = (real.double().mean(0) - fake.double().mean(0)).square().sum()
    expected = mean + numpy.trace(a) + numpy.trace(b) - 2 * root
    assert_same(metric.compute(), expected, 1e-4, 1e-4)
    assert_same(metric.clone().compute(), metric.compute(), 0, 0)
    with pytest.raises(TypeError, match="FrechetInceptionDistance: Expected argument `real` to be a boolean, but got 1 of type int"):
        metric.update(real, 1)
    with pytest.raises(TypeError, match="FrechetInceptionDistance: missing a required argument: 'num_features'"):
        ours.FrechetInceptionDistance()
