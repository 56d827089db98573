#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

// Negative predictive value: of the samples not predicted as a class, the part that does not belong
// to it, tn / (tn + fn).
struct NegativePredictiveValueFormula : ZeroDivisionFormula {
  static constexpr const char *kName = "NegativePredictiveValue";
  static at::Tensor value(const StatCounts &c) {
    return c.averaged(c.ratio(c.tn, c.tn + c.fn), StatCounts::Appearing::kTopKAsTarget);
  }
};

DEVSAN_CLASSIFICATION_METRIC(BinaryNegativePredictiveValue, binary_negative_predictive_value,
                             StatScoreOfSamples<NegativePredictiveValueFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassNegativePredictiveValue,
                             multiclass_negative_predictive_value,
                             StatScoreOfSamples<NegativePredictiveValueFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelNegativePredictiveValue,
                             multilabel_negative_predictive_value,
                             StatScoreOfSamples<NegativePredictiveValueFormula, MultilabelAveraged>)

} // namespace devsan::metrics
