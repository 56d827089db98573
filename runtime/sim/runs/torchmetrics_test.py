"""A real library on simulated devices: torchmetrics gives on cuda:1 what it gives on the CPU.

Run by ctest under _simulated. Exit status 77 (skipped) where the library is not installed.
"""

import importlib.util
import sys
import unittest

SKIPPED = 77

if importlib.util.find_spec("torchmetrics") is None:
    print("skipped: no torchmetrics: script/bootstrap installs it")
    sys.exit(SKIPPED)

from devsan import sim

sim.install()

import torch
import torchmetrics
from torchmetrics import classification, clustering, image, regression, retrieval

SECOND = torch.device("cuda:1")


def inputs():
    generator = torch.Generator().manual_seed(0)

    def reals(*shape):
        return torch.rand(*shape, generator=generator)

    def labels(count, *shape):
        return torch.randint(0, count, shape, generator=generator)

    scores = reals(40, 5).softmax(-1)
    classes = [(scores[:20], labels(5, 20)), (scores[20:], labels(5, 20))]
    binary = [(reals(20), labels(2, 20)), (reals(20), labels(2, 20))]
    numbers = [(reals(20), reals(20)), (reals(20), reals(20))]
    pictures = [(reals(2, 3, 16, 16), reals(2, 3, 16, 16))]
    clusters = [(labels(4, 20), labels(4, 20))]
    ranked = [(reals(20), labels(2, 20), labels(3, 20))]
    for make in (
        classification.MulticlassAccuracy,
        classification.MulticlassAUROC,
        classification.MulticlassAveragePrecision,
        classification.MulticlassCalibrationError,
        classification.MulticlassCohenKappa,
        classification.MulticlassConfusionMatrix,
        classification.MulticlassF1Score,
        classification.MulticlassMatthewsCorrCoef,
        classification.MulticlassStatScores,
    ):
        yield (lambda make=make: make(num_classes=5)), classes
    for make in (
        classification.BinaryAUROC,
        classification.BinaryPrecisionRecallCurve,
        classification.BinaryROC,
        lambda: classification.BinaryAUROC(thresholds=10),
        lambda: classification.BinaryRecallAtFixedPrecision(0.5),
        torchmetrics.CatMetric,
    ):
        yield make, [(first,) for first, _ in binary] if make is torchmetrics.CatMetric else binary
    for make in (
        regression.ConcordanceCorrCoef,
        regression.ExplainedVariance,
        regression.KendallRankCorrCoef,
        regression.MeanSquaredError,
        regression.PearsonCorrCoef,
        regression.R2Score,
        regression.SpearmanCorrCoef,
    ):
        yield make, numbers
    for make in (
        lambda: image.PeakSignalNoiseRatio(data_range=1.0),
        lambda: image.StructuralSimilarityIndexMeasure(kernel_size=5, data_range=1.0),
        image.TotalVariation,
        image.UniversalImageQualityIndex,
    ):
        yield make, [(first,) for first, _ in pictures] if make is image.TotalVariation else pictures
    for make in (clustering.AdjustedRandScore, clustering.NormalizedMutualInfoScore, clustering.VMeasureScore):
        yield make, clusters
    for make in (retrieval.RetrievalMAP, retrieval.RetrievalMRR, retrieval.RetrievalNormalizedDCG):
        yield make, ranked


def results(make, batches, device):
    metric = make().to(device)
    for batch in batches:
        values = [value.to(device) for value in batch]
        metric.update(*values[:2], **({"indexes": values[2]} if len(values) == 3 else {}))
    return metric.compute()


class Torchmetrics(unittest.TestCase):
    def test_equal_on_the_device(self):
        checked = 0
        for make, batches in inputs():
            with self.subTest(str(make)):
                expected = torch.utils._pytree.tree_leaves(results(make, batches, "cpu"))
                for value, reference in zip(torch.utils._pytree.tree_leaves(results(make, batches, SECOND)), expected, strict=True):
                    self.assertEqual(value.device, SECOND)
                    torch.testing.assert_close(value.cpu(), reference)
                    checked += 1
        self.assertGreater(checked, 30)


if __name__ == "__main__":
    unittest.main()
