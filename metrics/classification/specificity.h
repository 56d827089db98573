#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

// Specificity: of the samples of other classes, the part not predicted as a class, tn / (tn + fp);
// 0 where there are none.
struct SpecificityFormula : PlainFormula {
  static constexpr const char *kName = "Specificity";
  static at::Tensor value(const StatCounts &c) { return c.averaged(c.ratio(c.tn, c.tn + c.fp)); }
};

DEVSAN_CLASSIFICATION_METRIC(BinarySpecificity, binary_specificity,
                             StatScoreOfSamples<SpecificityFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassSpecificity, multiclass_specificity,
                             StatScoreOfSamples<SpecificityFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelSpecificity, multilabel_specificity,
                             StatScoreOfSamples<SpecificityFormula, MultilabelAveraged>)

} // namespace devsan::metrics
