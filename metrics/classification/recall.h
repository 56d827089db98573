#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

// Recall (sensitivity): of the samples of a class, the part predicted as it, tp / (tp + fn).
struct RecallFormula : ZeroDivisionFormula {
  static constexpr const char *kName = "Recall";
  static at::Tensor value(const StatCounts &c) {
    return c.averaged(c.ratio(c.tp, c.tp + c.fn), StatCounts::Appearing::kTopKAsTarget);
  }
};

DEVSAN_CLASSIFICATION_METRIC(BinaryRecall, binary_recall, StatScoreOfSamples<RecallFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassRecall, multiclass_recall,
                             StatScoreOfSamples<RecallFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelRecall, multilabel_recall,
                             StatScoreOfSamples<RecallFormula, MultilabelAveraged>)

} // namespace devsan::metrics
