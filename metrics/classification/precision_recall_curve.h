#pragma once

#include "metrics/classification/curve_metric.h"

namespace devsan::metrics {

// Precision and recall at each threshold, in ascending order, and after them the point 1, 0 that
// closes the curve. 0 / 0 is NaN: precision where nothing is predicted, recall where there are no
// targets. With thresholds not given, that recall is 1, as in scikit-learn.
//
// compute()  float32 [2, thresholds + 1] for binary tasks, else [2, classes, thresholds + 1]:
//            precision, recall. Waits for the device where thresholds are not given.
struct PrecisionRecallCurveFormula : PlainFormula {
  static constexpr const char *kName = "PrecisionRecallCurve";
  static constexpr bool kCurve = true;
  struct Result {
    at::Tensor precision, recall; // [thresholds + 1] or [classes, thresholds + 1]
    at::Tensor thresholds;        // [thresholds], ascending; if not given as the others, less one
  };
  static at::Tensor value(const CurveCounts &counts);
  static Result result(const at::Tensor &computed, const at::Tensor &thresholds) {
    return {computed[0], computed[1], thresholds.narrow(-1, 0, computed.size(-1) - 1)};
  }
};

DEVSAN_CURVE_METRIC(BinaryPrecisionRecallCurve, binary_precision_recall_curve,
                    CurveScore<PrecisionRecallCurveFormula, BinaryScores>)
DEVSAN_CURVE_METRIC(MulticlassPrecisionRecallCurve, multiclass_precision_recall_curve,
                    CurveScore<PrecisionRecallCurveFormula, MulticlassCurves>)
DEVSAN_CURVE_METRIC(MultilabelPrecisionRecallCurve, multilabel_precision_recall_curve,
                    CurveScore<PrecisionRecallCurveFormula, MultilabelScores>)

} // namespace devsan::metrics
