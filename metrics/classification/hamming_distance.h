#pragma once

#include "metrics/classification/stat_scores_metric.h"

namespace devsan::metrics {

// Hamming distance: the part of the samples that is predicted wrong, 1 - accuracy of each class,
// see accuracy.h. A class without targets is at distance 1.
struct HammingDistanceFormula : PlainFormula {
  static constexpr const char *kName = "HammingDistance";
  static at::Tensor value(const StatCounts &c) {
    const at::Tensor score = c.multiclass() ? c.ratio(c.tp, c.tp + c.fn)
                                            : c.ratio(c.tp + c.tn, c.tp + c.fp + c.tn + c.fn);
    return c.averaged(1 - score);
  }
};

DEVSAN_CLASSIFICATION_METRIC(BinaryHammingDistance, binary_hamming_distance,
                             StatScoreOfSamples<HammingDistanceFormula, Binary>)
DEVSAN_CLASSIFICATION_METRIC(MulticlassHammingDistance, multiclass_hamming_distance,
                             StatScoreOfSamples<HammingDistanceFormula, MulticlassTopK>)
DEVSAN_CLASSIFICATION_METRIC(MultilabelHammingDistance, multilabel_hamming_distance,
                             StatScoreOfSamples<HammingDistanceFormula, MultilabelAveraged>)

} // namespace devsan::metrics
