#pragma once

#include "metrics/classification/curve_metric.h"

namespace devsan::metrics {

// Equal error rate: the mean of false positive and false negative rate at the threshold where they
// differ least, the highest of several.
//
// compute()  float32 [] for binary tasks and averaged curves, whose macro average waits for the
//            device where thresholds are not given; else [classes]. A rate of no samples is as in
//            ROC, which leaves nothing to balance: meaningful are classes with targets and with
//            others.
struct EERFormula : PlainFormula {
  static constexpr const char *kName = "EER";
  static at::Tensor value(const CurveCounts &counts);
  static at::Tensor of_curve(const at::Tensor &fpr, const at::Tensor &tpr);
};

DEVSAN_CLASSIFICATION_METRIC(BinaryEER, binary_eer, CurveScore<EERFormula, BinaryScores>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassEER, multiclass_eer,
                             CurveScore<EERFormula, MulticlassCurves>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelEER, multilabel_eer,
                             CurveScore<EERFormula, MultilabelScores>)

} // namespace devsan::metrics
