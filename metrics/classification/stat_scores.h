#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

// The counts themselves: true positives, false positives, true negatives, false negatives and
// support (tp + fn), along the last dimension.
//
// compute()  int64 [5] for binary tasks and kMicro, int64 [num_classes or num_labels, 5] for kNone;
//            float32 [5] for kMacro, the mean over all classes, and kWeighted, weighted by support
//            (0 where there are no targets).
struct StatScoresFormula : PlainFormula {
  static constexpr const char *kName = "StatScores";
  static at::Tensor value(const StatCounts &counts);
};

DEVSAN_CLASSIFICATION_METRIC(BinaryStatScores, binary_stat_scores,
                             StatScoreOfSamples<StatScoresFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassStatScores, multiclass_stat_scores,
                             StatScoreOfSamples<StatScoresFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelStatScores, multilabel_stat_scores,
                             StatScoreOfSamples<StatScoresFormula, MultilabelAveraged>)

} // namespace devsan::metrics
