#pragma once

#include "metrics/classification/curve_metric.h"

namespace devsan::metrics {

// Equal error rate: the mean of false positive and false negative rate at the threshold where they
// differ least, the highest of several.
//
// compute()  float32 [] for binary tasks, else [classes]. A rate of no samples is as in ROC, which
//            leaves nothing to balance: meaningful are classes with targets and with others.
struct EERFormula : PlainFormula {
  static constexpr const char *kName = "EER";
  static at::Tensor value(const CurveCounts &counts);
};

DEVSAN_CLASSIFICATION_METRIC(BinaryEER, binary_eer, CurveScore<EERFormula, BinaryScores>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassEER, multiclass_eer,
                             CurveScore<EERFormula, MulticlassScores>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelEER, multilabel_eer,
                             CurveScore<EERFormula, MultilabelScores>)

} // namespace devsan::metrics
