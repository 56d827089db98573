#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

// Jaccard index (intersection over union): tp / (tp + fp + fn). The macro average of several
// classes is the mean IoU of segmentation.
//
// A class that is ignore_index takes part in no average, also where it is predicted.
struct JaccardIndexFormula : ZeroDivisionFormula {
  static constexpr const char *kName = "JaccardIndex";
  static constexpr bool kByClass = true;
  static at::Tensor value(const StatCounts &counts);
};

DEVSAN_CLASSIFICATION_METRIC(BinaryJaccardIndex, binary_jaccard_index,
                             StatScore<JaccardIndexFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassJaccardIndex, multiclass_jaccard_index,
                             StatScore<JaccardIndexFormula, MulticlassAveraged>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelJaccardIndex, multilabel_jaccard_index,
                             StatScore<JaccardIndexFormula, MultilabelAveraged>)

} // namespace devsan::metrics
