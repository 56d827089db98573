"""What the classes of devsan.metrics cannot tell about themselves: formula, source, and how exact they are. The only place for it;
all else on the pages of the reference comes from the classes (ask.py)."""

import torch

# Of counts: tp, fp, tn, fn, with several classes of each of them. x are predictions, y targets, N samples.
COCO = "Lin et al., Microsoft COCO: Common Objects in Context, 2014; pycocotools 2.0.11"
POWERS = "Powers, Evaluation: from precision, recall and F-measure to ROC, informedness, markedness and correlation, 2011"
FAWCETT = "Fawcett, An introduction to ROC analysis, 2006"
MANNING = "Manning, Raghavan, Schütze, Introduction to Information Retrieval, 2008, chapter 8"

# Of a metric, without its task: formula, source.
METRICS = {
    "MeanMetric": ("sum(w v) / sum(w)", "the definition"),
    "SumMetric": ("sum(v)", "the definition"),
    "MaxMetric": ("max(v)", "the definition"),
    "MinMetric": ("min(v)", "the definition"),
    "CatMetric": ("v of the first update, v of the second, ...", "the definition"),
    "RunningMean": ("sum(w v) / sum(w) over the last updates, as many as window says", "the definition"),
    "RunningSum": ("sum(v) over the last updates, as many as window says", "the definition"),
    "StatScores": ("tp, fp, tn, fn, tp + fn", POWERS),
    "Accuracy": ("(tp + tn) / N of binary tasks; of a class tp / (tp + fn), of several labels (tp + tn) / N", POWERS),
    "Precision": ("tp / (tp + fp)", POWERS),
    "Recall": ("tp / (tp + fn)", POWERS),
    "FBetaScore": ("(1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)", "van Rijsbergen, Information Retrieval, 1979"),
    "F1Score": ("2 tp / (2 tp + fn + fp)", "van Rijsbergen, Information Retrieval, 1979"),
    "Specificity": ("tn / (tn + fp)", POWERS),
    "NegativePredictiveValue": ("tn / (tn + fn)", POWERS),
    "HammingDistance": ("1 - accuracy", "Hamming, Error detecting and error correcting codes, 1950; scikit-learn's hamming_loss"),
    "ExactMatch": ("samples that are right as a whole / N", "scikit-learn's accuracy_score of several labels"),
    "ConfusionMatrix": ("C[i, j] = samples of class i that are predicted as class j", "scikit-learn's confusion_matrix"),
    "JaccardIndex": ("tp / (tp + fp + fn)", "Jaccard 1901; scikit-learn's jaccard_score"),
    "Dice": ("2 tp / (2 tp + fp + fn)", "Dice, Measures of the Amount of Ecologic Association Between Species, 1945"),
    "CohenKappa": ("1 - sum(w C) / sum(w E), E = rows' sums times columns' sums / N, w as weights says",
                   "Cohen, A Coefficient of Agreement for Nominal Scales, 1960; scikit-learn's cohen_kappa_score"),
    "MatthewsCorrCoef": ("(N tp - t p) / sqrt((N^2 - p p) (N^2 - t t)), of all classes: tp right samples, t and p the vectors of "
                         "targets and predictions of each class", "Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient, 2004; "
                         "scikit-learn's matthews_corrcoef"),
    "PrecisionRecallCurve": ("tp / (tp + fp) and tp / (tp + fn) at each threshold", "scikit-learn's precision_recall_curve"),
    "ROC": ("fp / (fp + tn) and tp / (tp + fn) at each threshold", FAWCETT),
    "AUROC": ("the area under (fp / (fp + tn), tp / (tp + fn)) by trapezoids; up to max_fpr standardised by McClish 1989", FAWCETT),
    "AveragePrecision": ("sum over thresholds of (recall - recall at the one above) precision", "scikit-learn's average_precision_score"),
    "RecallAtFixedPrecision": ("max recall where precision >= min_precision", "the definition"),
    "SensitivityAtSpecificity": ("max tp / (tp + fn) where tn / (tn + fp) >= min_specificity", "the definition"),
    "EER": ("(fpr + fnr) / 2 where |fpr - fnr| is least", "ISO/IEC 19795-1"),
    "CalibrationError": ("sum over bins of share |accuracy - confidence| (l1), the root of sum share (...)^2 (l2), or max (max)",
                         "Guo et al., On Calibration of Modern Neural Networks, 2017"),
    "BrierScore": ("mean of sum over classes (p - [class is y])^2; of binary tasks half of it by default",
                   "Brier, Verification of forecasts expressed in terms of probability, 1950; scikit-learn's brier_score_loss"),
    "LogLoss": ("mean of -log(p of y)", "scikit-learn's log_loss"),
    "HingeLoss": ("mean of max(0, 1 - margin), the margin s of y minus the highest other; of binary tasks s or -s",
                  "Crammer, Singer, On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines, 2001; scikit-learn's hinge_loss"),
    "MeanAveragePrecision": ("mean over classes and overlaps of mean over recalls r of max precision where recall >= r", COCO),
    "PanopticQuality": ("sum of iou over tp / (tp + fp / 2 + fn / 2), tp: pairs of segments of iou > 0.5",
                        "Kirillov et al., Panoptic Segmentation, 2019"),
    "ModifiedPanopticQuality": ("of stuff: sum of iou over all that meet / number of targets; of things as PanopticQuality",
                                "Porzi et al., Seamless Scene Segmentation, 2019"),
    "PeakSignalNoiseRatio": ("10 log10(range^2 / mean (x - y)^2)", "the definition"),
    "StructuralSimilarityIndexMeasure": (
        "(2 mx my + c1) (2 cov + c2) / ((mx^2 + my^2 + c1) (vx + vy + c2)), c1 = (k1 range)^2, c2 = (k2 range)^2, means over a window",
        "Wang et al., Image Quality Assessment: From Error Visibility to Structural Similarity, 2004"),
    "MultiScaleStructuralSimilarityIndexMeasure": ("product over scales of contrast^beta, at the last one similarity^beta",
                                                   "Wang, Simoncelli, Bovik, Multi-scale Structural Similarity for Image Quality Assessment, 2003"),
    "FrechetInceptionDistance": ("|m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)), means m and covariances S of the features",
                                 "Heusel et al., GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium, 2017"),
    "MeanSquaredError": ("mean of (x - y)^2", "scikit-learn's mean_squared_error"),
    "MeanAbsoluteError": ("mean of |x - y|", "scikit-learn's mean_absolute_error"),
    "MeanAbsolutePercentageError": ("mean of |x - y| / max(|y|, 1.17e-6)", "scikit-learn's mean_absolute_percentage_error, with TorchMetrics' epsilon"),
    "SymmetricMeanAbsolutePercentageError": ("mean of 2 |x - y| / max(|x| + |y|, 1.17e-6)", "TorchMetrics' definition"),
    "WeightedMeanAbsolutePercentageError": ("sum |x - y| / max(sum |y|, 1.17e-6)", "TorchMetrics' definition"),
    "MeanSquaredLogError": ("mean of (log(1 + x) - log(1 + y))^2", "scikit-learn's mean_squared_log_error"),
    "LogCoshError": ("mean of log(cosh(x - y))", "the definition"),
    "TweedieDevianceScore": ("mean of 2 (max(y, 0)^(2-p) / ((1-p) (2-p)) - y x^(1-p) / (1-p) + x^(2-p) / (2-p)), p = power, and its limits at 0, 1 and 2",
                             "Jørgensen, Exponential Dispersion Models, 1987; scikit-learn's mean_tweedie_deviance"),
    "CosineSimilarity": ("<x, y> / (|x| |y|) of each row", "the definition"),
    "KLDivergence": ("sum p log(p / q) of each row, p and q divided by their sums", "Kullback, Leibler, On Information and Sufficiency, 1951; SciPy's rel_entr"),
    "JensenShannonDivergence": ("(KL(p, m) + KL(q, m)) / 2 of each row, m = (p + q) / 2", "Lin, Divergence Measures Based on the Shannon Entropy, 1991"),
    "R2Score": ("1 - sum (y - x)^2 / sum (y - mean y)^2", "scikit-learn's r2_score"),
    "ExplainedVariance": ("1 - var(y - x) / var(y)", "scikit-learn's explained_variance_score"),
    "PearsonCorrCoef": ("cov(x, y) / sqrt(var(x) var(y))", "SciPy's pearsonr; moments merge by Chan, Golub, LeVeque 1979"),
    "ConcordanceCorrCoef": ("2 cov(x, y) / (var(x) + var(y) + (mean x - mean y)^2)", "Lin, A Concordance Correlation Coefficient to Evaluate Reproducibility, 1989"),
    "SpearmanCorrCoef": ("Pearson's coefficient of the ranks, of which equal numbers share the mean", "SciPy's spearmanr"),
    "KendallRankCorrCoef": ("(C - D) / P of C concordant and D discordant pairs; P by variant: all pairs (a), "
                            "sqrt((C + D + ties of x) (C + D + ties of y)) (b), N^2 (m - 1) / (2 m) (c)",
                            "Kendall, A New Measure of Rank Correlation, 1938; SciPy's kendalltau; counted as by Knight 1966"),
    "RetrievalMAP": ("mean over relevant documents found of relevant ones up to them / rank", MANNING),
    "RetrievalMRR": ("1 / rank of the first relevant document", "Voorhees, The TREC-8 Question Answering Track Report, 1999"),
    "RetrievalPrecision": ("relevant documents found / top_k", MANNING),
    "RetrievalRecall": ("relevant documents found / relevant documents", MANNING),
    "RetrievalRPrecision": ("relevant documents among the first R / R, R relevant documents", MANNING),
    "RetrievalHitRate": ("1 where a relevant document is found, else 0", "the definition"),
    "RetrievalFallOut": ("other documents found / other documents", MANNING),
    "RetrievalNormalizedDCG": ("DCG / DCG of the best order, DCG = sum of relevance / log2(rank + 1)",
                               "Järvelin, Kekäläinen, Cumulated gain-based evaluation of IR techniques, 2002; scikit-learn's ndcg_score"),
    "MeanIoU": ("mean over images and classes of |x and y| / |x or y|", "Everingham et al., The PASCAL Visual Object Classes Challenge, 2010"),
    "Perplexity": ("exp(mean of -log(p of y))", "Jelinek et al., Perplexity, a measure of the difficulty of speech recognition tasks, 1977"),
}  # fmt: skip


def relative_error(dtype):
    """Of a result of this dtype, against the reference in float64: that of the pages, and of the test. float32 is rounded once."""
    return {torch.float64: 1e-12, torch.float32: 1e-7}.get(dtype, 0.0)
