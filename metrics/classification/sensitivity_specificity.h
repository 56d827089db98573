#pragma once

#include "metrics/classification/curve_point.h"

namespace devsan::metrics {

// The highest sensitivity (recall, true positive rate) at a threshold with at least
// `min_specificity`, and the highest threshold that has it; 0 and 1e6, as TorchMetrics has it,
// where there is none. Specificity of no negatives is 1.
//
// compute()  float32 [2] for binary tasks, else [2, classes]: sensitivity, threshold.
struct SensitivityAtSpecificityFormula {
  static constexpr const char *kName = "SensitivityAtSpecificity";
  template <template <class> class TaskT> using Options = MinSpecificityOptions<TaskT>;
  struct Result {
    at::Tensor sensitivity, threshold; // [] or [classes]
  };
  static at::Tensor value(const CurveCounts &counts);
  static Result result(const at::Tensor &computed, const at::Tensor &) {
    return {computed[0], computed[1]};
  }
};

DEVSAN_CURVE_METRIC(BinarySensitivityAtSpecificity, binary_sensitivity_at_specificity,
                    CurveScore<SensitivityAtSpecificityFormula, BinaryScores>)
DEVSAN_CURVE_METRIC(MulticlassSensitivityAtSpecificity, multiclass_sensitivity_at_specificity,
                    CurveScore<SensitivityAtSpecificityFormula, MulticlassScores>)
DEVSAN_CURVE_METRIC(MultilabelSensitivityAtSpecificity, multilabel_sensitivity_at_specificity,
                    CurveScore<SensitivityAtSpecificityFormula, MultilabelScores>)

} // namespace devsan::metrics
