#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

// Precision: of the samples predicted as a class, the part that belongs to it, tp / (tp + fp).
struct PrecisionFormula : ZeroDivisionFormula {
  static constexpr const char *kName = "Precision";
  static at::Tensor value(const StatCounts &c) {
    return c.averaged(c.ratio(c.tp, c.tp + c.fp), StatCounts::Appearing::kTopKAsTarget);
  }
};

DEVSAN_CLASSIFICATION_METRIC(BinaryPrecision, binary_precision,
                             StatScoreOfSamples<PrecisionFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassPrecision, multiclass_precision,
                             StatScoreOfSamples<PrecisionFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelPrecision, multilabel_precision,
                             StatScoreOfSamples<PrecisionFormula, MultilabelAveraged>)

} // namespace devsan::metrics
