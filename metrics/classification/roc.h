#pragma once

#include "metrics/classification/curve_metric.h"

namespace devsan::metrics {

// Receiver operating characteristic: false and true positive rate at each threshold, from the
// highest threshold down, so that both ascend. A rate of no samples is 0. With thresholds not
// given, the curve starts at 0, 0, where the threshold is 1, as in TorchMetrics.
//
// compute()  float32 [2, thresholds] for binary tasks, else [2, classes, thresholds]: fpr, tpr.
//            Waits for the device where thresholds are not given.
struct ROCFormula : PlainFormula {
  static constexpr const char *kName = "ROC";
  static constexpr bool kCurve = true;
  static constexpr bool kDescending = true; // the thresholds
  struct Result {
    at::Tensor fpr, tpr;   // [thresholds] or [classes, thresholds]
    at::Tensor thresholds; // [thresholds], descending; if not given as the others
  };
  static at::Tensor value(const CurveCounts &c) { return rates(c); }
  static Result result(const at::Tensor &computed, const at::Tensor &thresholds) {
    return {computed[0], computed[1], descending(thresholds)};
  }
};

DEVSAN_CURVE_METRIC(BinaryROC, binary_roc, CurveScore<ROCFormula, BinaryScores>)
DEVSAN_CURVE_METRIC(MulticlassROC, multiclass_roc, CurveScore<ROCFormula, MulticlassCurves>)
DEVSAN_CURVE_METRIC(MultilabelROC, multilabel_roc, CurveScore<ROCFormula, MultilabelScores>)

} // namespace devsan::metrics
