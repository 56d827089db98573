#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

// Accuracy: the part of the samples that is predicted right. Of a class of several, the part of its
// targets, tp / (tp + fn), so that the macro average is the balanced accuracy; binary and of a
// label, (tp + tn) / (tp + fp + tn + fn). A class without targets scores 0.
//
// MulticlassAccuracy with kMacro and without ignored samples is scikit-learn's
// balanced_accuracy_score where every class has targets.
struct AccuracyFormula : PlainFormula {
  static constexpr const char *kName = "Accuracy";
  static at::Tensor value(const StatCounts &c) {
    const at::Tensor score = c.multiclass() ? c.ratio(c.tp, c.tp + c.fn)
                                            : c.ratio(c.tp + c.tn, c.tp + c.fp + c.tn + c.fn);
    return c.averaged(score, StatCounts::Appearing::kTopKAsTarget);
  }
};

DEVSAN_CLASSIFICATION_METRIC(BinaryAccuracy, binary_accuracy,
                             StatScoreOfSamples<AccuracyFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassAccuracy, multiclass_accuracy,
                             StatScoreOfSamples<AccuracyFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelAccuracy, multilabel_accuracy,
                             StatScoreOfSamples<AccuracyFormula, MultilabelAveraged>)

} // namespace devsan::metrics
