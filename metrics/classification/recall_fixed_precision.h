#pragma once

#include "metrics/classification/curve_point.h"

namespace devsan::metrics {

// The highest recall at a threshold with at least `min_precision`, and the highest threshold that
// has it. Recall is 0 and the threshold NaN where no threshold has both that precision and a recall
// above 0.
//
// compute()  float32 [2] for binary tasks, else [2, classes]: recall, threshold.
struct RecallAtFixedPrecisionFormula {
  static constexpr const char *kName = "RecallAtFixedPrecision";
  template <template <class> class TaskT> using Options = MinPrecisionOptions<TaskT>;
  struct Result {
    at::Tensor recall, threshold; // [] or [classes]
  };
  static at::Tensor value(const CurveCounts &counts);
  static Result result(const at::Tensor &computed, const at::Tensor &) {
    return {computed[0], computed[1]};
  }
};

DEVSAN_CURVE_METRIC(BinaryRecallAtFixedPrecision, binary_recall_at_fixed_precision,
                    CurveScore<RecallAtFixedPrecisionFormula, BinaryScores>)
DEVSAN_CURVE_METRIC(MulticlassRecallAtFixedPrecision, multiclass_recall_at_fixed_precision,
                    CurveScore<RecallAtFixedPrecisionFormula, MulticlassScores>)
DEVSAN_CURVE_METRIC(MultilabelRecallAtFixedPrecision, multilabel_recall_at_fixed_precision,
                    CurveScore<RecallAtFixedPrecisionFormula, MultilabelScores>)

} // namespace devsan::metrics
