"""Inputs at which formulas divide by 0, against TorchMetrics: where both differ, docs/metrics-differences.md decides."""

import re
import warnings
from pathlib import Path

import pytest
import torch
import torchmetrics
import torchmetrics.classification
import torchmetrics.detection
import torchmetrics.image
import torchmetrics.regression
import torchmetrics.retrieval
import torchmetrics.segmentation
import torchmetrics.text

from common import CLASSES, NAMES, arguments_of, assert_same, batch, kind_of, make, options, tensors

PAGE = (Path(__file__).resolve().parents[3] / "docs/metrics-differences.md").read_text(encoding="utf-8")
MODULES = ("classification", "detection", "regression", "retrieval", "image", "segmentation", "text")
N = 12


def theirs_of(name):
    given = kind_of(name).name
    found = next((getattr(module, given) for module in [*(getattr(torchmetrics, name) for name in MODULES), torchmetrics] if hasattr(module, given)), None)
    return found


def scores_for(name, number, generator):
    if name.startswith("Binary"):
        return torch.rand(number, generator=generator)
    scores = torch.rand(number, CLASSES, generator=generator)
    return scores.softmax(1) if name.startswith("Multiclass") else scores


def classification(name, corner, generator):
    preds = scores_for(name, 0 if corner == "empty" else N, generator)
    width = () if not name.startswith("Multilabel") else (CLASSES,)
    target = torch.randint(CLASSES if name.startswith("Multiclass") else 2, (len(preds), *width), generator=generator)
    if corner == "constant":
        preds = torch.full_like(preds, 1 / CLASSES if name.startswith("Multiclass") else 0.5)
    elif corner == "one class":
        target = torch.zeros_like(target)
    elif corner == "right":
        preds = torch.nn.functional.one_hot(target, CLASSES).float() if name.startswith("Multiclass") else target.float()
    elif corner == "ignored":
        target = torch.full_like(target, -1)
    elif corner == "infinite":
        preds = torch.where(preds > preds.median(), torch.inf, -torch.inf) if not name.startswith("Multiclass") else preds * 1e30
    elif corner == "extreme":
        preds = torch.where(preds > preds.median(), 1 - 1e-7, 1e-38)
    return preds, target


def numbers(name, corner, generator):
    n = {"empty": 0, "one sample": 1}.get(corner, N)
    sizes = (n, 4) if name in ("KLDivergence", "JensenShannonDivergence", "CosineSimilarity") else (n,)
    target = torch.rand(sizes, generator=generator) + 0.1
    preds = target + 0.3 * torch.rand(sizes, generator=generator)
    if corner == "constant":
        preds, target = torch.full_like(preds, 0.75), torch.full_like(target, 0.5)
    elif corner == "constant target":
        target = torch.full_like(target, 0.5)
    elif corner == "right":
        preds = target.clone()
    elif corner == "infinite":
        preds[0] = torch.inf
    elif corner == "extreme":
        preds, target = preds * 1e18, target * 1e18
    elif corner == "tiny":
        preds, target = preds * 1e-18, target * 1e-18
    elif corner == "zero":
        preds, target = torch.zeros_like(preds), torch.zeros_like(target)
    return preds, target


def documents(name, corner, generator):
    n = 0 if corner == "empty" else N
    preds = torch.rand(n, generator=generator) + 0.1
    target, indexes = torch.randint(2, (n,), generator=generator), torch.arange(n) % 3
    if corner == "constant":
        preds = torch.full_like(preds, 0.5)
    elif corner == "one class":
        target = torch.zeros_like(target)
    elif corner == "right":
        target, preds = torch.ones_like(target), preds
    elif corner == "infinite":
        preds[0] = torch.inf
    elif corner == "zero":
        preds = preds - preds.max()
    elif corner == "one sample":
        indexes = torch.arange(n)
    return preds, target, indexes


def images(name, corner, generator):
    preds = torch.rand(2, 2, 16, 16, generator=generator)
    target = torch.rand(2, 2, 16, 16, generator=generator)
    if corner == "constant":
        preds, target = torch.full_like(preds, 0.5), torch.full_like(target, 0.25)
    elif corner == "right":
        preds = target.clone()
    elif corner == "zero":
        preds, target = torch.zeros_like(preds), torch.zeros_like(target)
    elif corner == "one class":
        preds = 1 - target
    return preds, target


def tokens(name, corner, generator):
    preds, target = torch.randn(N, 3, CLASSES, generator=generator), torch.randint(CLASSES, (N, 3), generator=generator)
    if corner == "constant":
        preds = torch.zeros_like(preds)
    elif corner == "extreme":
        preds = preds * 1e4
    elif corner == "ignored":
        target = torch.full_like(target, -1)
    elif corner == "right":
        preds = 1e4 * torch.nn.functional.one_hot(target, CLASSES)
    return preds, target


def masks(name, corner, generator):
    preds = torch.randint(2, (3, CLASSES, 8), generator=generator)
    target = torch.randint(2, (3, CLASSES, 8), generator=generator)
    if corner == "zero":
        preds, target = torch.zeros_like(preds), torch.zeros_like(target)
    elif corner == "one class":
        preds, target = preds.index_fill(1, torch.tensor([1, 2]), 0), target.index_fill(1, torch.tensor([1, 3]), 0)
    elif corner == "right":
        preds = target.clone()
    elif corner == "constant":
        preds = torch.ones_like(preds)
    return preds, target


CORNERS = {
    "classification": (classification, ("empty", "constant", "one class", "right", "ignored", "infinite", "extreme")),
    "regression": (numbers, ("empty", "one sample", "constant", "constant target", "right", "infinite", "extreme", "tiny", "zero")),
    "retrieval": (documents, ("empty", "constant", "one class", "right", "infinite", "zero", "one sample")),
    "image": (images, ("constant", "right", "zero", "one class")),
    "text": (tokens, ("constant", "extreme", "ignored", "right")),
    "segmentation": (masks, ("zero", "one class", "right", "constant")),
}
CASES = [
    (name, corner) for name in NAMES if kind_of(name).domain in CORNERS and theirs_of(name)
    and not name.endswith(("LogLoss", "BrierScore", "Dice"))
    for corner in CORNERS[kind_of(name).domain][1]
    if corner != "ignored" or "ignore_index" in arguments_of(kind_of(name))
]  # fmt: skip


def value(metric, inputs):
    """Or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            metric.update(*inputs)
            return metric.compute()
        except Exception as error:
            return error


def difference(name, corner):
    """None where both give the same, or both an error."""
    domain = kind_of(name).domain
    inputs = CORNERS[domain][0](name, corner, torch.Generator().manual_seed(sum(map(ord, name + corner))))
    given = options(name) | ({"ignore_index": -1} if corner == "ignored" else {})
    found, expected = value(make(name, **given), inputs), value(theirs_of(name)(**given), inputs)
    if isinstance(found, Exception) or isinstance(expected, Exception):
        return None if isinstance(found, Exception) and isinstance(expected, Exception) else (found, expected)
    try:
        assert_same(found, tuple(map(torch.as_tensor, expected)) if isinstance(expected, tuple) and not isinstance(expected[0], list) else expected, 1e-4, 1e-5)
    except (AssertionError, ValueError, TypeError):
        return found, expected
    return None


# Names, corners, and how the row of the page begins that decides.
DECIDED = [
    (r"^(Binary|Multiclass|Multilabel)", ("empty", "ignored"), "| all of classification | a batch, or an epoch, without samples |"),
    (r"AveragePrecision exact", ("infinite",), "| `AveragePrecision` of several classes, exact | a class without targets |"),
    (r"PrecisionRecallCurve exact", ("constant",), "| `PrecisionRecallCurve`, exact | all scores equal |"),
    (r"MulticlassPrecisionRecallCurve exact", ("right", "infinite"), "| `PrecisionRecallCurve`, exact, multiclass | a class without targets |"),
    (r"MulticlassPrecisionRecallCurve exact", ("one class",), "| `PrecisionRecallCurve`, exact, multiclass | all targets are class 0 |"),
    (r"RecallAtFixedPrecision exact", ("one class",), "| `RecallAtFixedPrecision`, exact | all targets of one class |"),
    (r"MatthewsCorrCoef", ("constant", "one class"), "| `MatthewsCorrCoef` | one class alone"),
    (r"SpearmanCorrCoef", ("one sample", "constant", "constant target", "zero"), "| `SpearmanCorrCoef` | a constant input"),
    (r"ConcordanceCorrCoef", ("constant", "constant target"), "| `ConcordanceCorrCoef` | one constant input |"),
    (r"(Pearson|Concordance|KendallRank)CorrCoef", ("empty",), "| `PearsonCorrCoef`, `ConcordanceCorrCoef`, `KendallRankCorrCoef` | no samples |"),
    (r"R2Score", ("tiny",), "| `R2Score`, `ExplainedVariance` | a large mean, or a small variance"),
    (r"R2Score", ("infinite",), "| `R2Score` | an infinite prediction |"),
    (r"R2Score", ("empty", "one sample"), "| `R2Score` | fewer than two samples |"),
    (r"LogCoshError", ("extreme",), "| `LogCoshError` | differences from 89 on |"),
    (r"Divergence", ("zero",), "| `KLDivergence`, `JensenShannonDivergence` | negative, or all zero |"),
    (r"^Retrieval", ("zero",), "| precision, recall, average precision, reciprocal rank of rankings | scores of 0 and less |"),
    (r"^Retrieval", ("constant",), "| all rankings | documents of equal score |"),
    (r"^Retrieval", ("empty",), "| all rankings, as classes | a batch without documents |"),
]


def test_every_difference_is_decided():
    assert len(CASES) > 800 and str(len(CASES)) in PAGE
    used, undecided = set(), []
    for name, corner in CASES:
        found = difference(name, corner)
        if found is None:
            continue
        row = next((row for pattern, corners, row in DECIDED if re.search(pattern, name) and corner in corners), None)
        used.add(row)
        if row is None:
            undecided.append(f"{name}, {corner}: {found[0]!r}, but TorchMetrics {found[1]!r}")
    assert not undecided, "\n".join(undecided)
    assert {row for *_, row in DECIDED} == used
    for row in used:
        assert f"\n{row}" in PAGE, row


@pytest.mark.parametrize("weighted", [name for name in NAMES if name.endswith("MeanMetric")])
def test_weights_of_nothing(weighted):
    """TorchMetrics divides by the sum of the weights, too: NaN where that is 0."""
    inputs = torch.rand(5), torch.zeros(5)
    metric, other = make(weighted), getattr(torchmetrics, weighted)()
    metric.update(*inputs)
    other.update(*inputs)
    assert_same(metric.compute(), other.compute())
