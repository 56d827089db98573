"""That each metric is as exact as its page of the reference says, against other implementations in float64."""

import sys
from pathlib import Path

import pytest
import scipy.linalg
import scipy.stats
import torch
from detection_test import EXPECTED, images, moved

from common import EXACT, KINDS, arguments_of, assert_same, batch, kind_of, options, tensors

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import ask
from corners_test import theirs_of
from known import relative_error

N = 64
ALL = [name + EXACT if "thresholds" in arguments_of(kind) else name for name, kind in KINDS.items()]


def brier_score(preds, target):
    given = preds if preds.dim() == 2 else torch.stack([1 - preds, preds], 1)
    total = (given - torch.nn.functional.one_hot(target, given.size(1))).square().sum(1).mean()
    return total if preds.dim() == 2 else total / 2


def log_loss(preds, target):
    given = preds if preds.dim() == 2 else torch.stack([1 - preds, preds], 1)
    return -given.gather(1, target[:, None]).log().mean()


def frechet(real, fake):
    means = [x.mean(0).numpy() for x in (real, fake)]
    covariances = [x.T.cov().numpy() for x in (real, fake)]
    root = scipy.linalg.sqrtm(covariances[0] @ covariances[1]).real
    return torch.tensor(((means[0] - means[1]) ** 2).sum() + (covariances[0] + covariances[1] - 2 * root).trace())


def dice(name):
    return lambda *inputs: theirs_of(name.replace("Dice", "F1Score"))(**options(name)).set_dtype(torch.float64)(*inputs)


def mean_iou(preds, target):
    both, either = (preds & target).sum(2).double(), (preds | target).sum(2)
    return (both / either)[either > 0].mean()


def spearman(preds, target):
    return torch.tensor(scipy.stats.spearmanr(preds, target).statistic)


# Those that TorchMetrics has not, or less exactly: it adds an epsilon to a divisor, or divides in float32.
OWN = {"BrierScore": brier_score, "LogLoss": log_loss, "MeanIoU": mean_iou, "SpearmanCorrCoef": spearman}


def both(name):
    """The value, and that of the reference."""
    base = name.removesuffix(EXACT).removeprefix("Binary").removeprefix("Multiclass").removeprefix("Multilabel")
    more = {"dtype": torch.float64} if "dtype" in arguments_of(kind_of(name)) else {}
    if base == "MeanAveragePrecision":
        (number, seed), expected = next(iter(EXPECTED.items()))
        preds, target = images(number, seed)
        metric = ask.made(name, box_format="xywh", **more)
        metric.update(moved(preds, "xywh"), moved(target, "xywh"))
        found = metric.compute()
        return {key: found[key] for key in expected}, {key: torch.tensor(value, dtype=torch.float64) for key, value in expected.items()}
    generator = torch.Generator().manual_seed(5)
    metric = ask.made(name, **more)
    if base == ask.FRECHET:
        real, fake = torch.randn(N, 4, generator=generator, dtype=torch.float64), torch.rand(N, 4, generator=generator, dtype=torch.float64)
        metric.update(real, True)
        metric.update(fake, False)
        return metric.compute(), frechet(real, fake)
    inputs = batch(name, N, generator, torch.float64)
    metric.update(*inputs)
    other = dice(name) if base == "Dice" else OWN.get(base)
    if other is None:
        theirs = theirs_of(name)(**options(name)).set_dtype(torch.float64)
        theirs.update(*inputs)
        return metric.compute(), theirs.compute()
    return metric.compute(), other(*inputs)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ALL)
def test_as_exact_as_its_page_says(name):
    torch.set_default_dtype(torch.float64)  # which TorchMetrics computes in
    try:
        found, expected = map(tensors, both(name))
    finally:
        torch.set_default_dtype(torch.float32)
    error = max(relative_error(tensor.dtype) for tensor in [*found, *expected])
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        torch.testing.assert_close(a.double(), torch.as_tensor(b).double().reshape(a.shape), rtol=error, atol=0, equal_nan=True)
