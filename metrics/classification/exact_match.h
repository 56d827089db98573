#pragma once

#include "metrics/classification/classification_metric.h"
#include "metrics/functional/safe_divide.h"

namespace devsan::metrics {

// The part of the samples that are right everywhere: of several classes, in all of the dimensions
// after the first; of several labels, in every label (the dimensions after the labels are samples
// like the first one).
//
// What is ignored in a sample does not matter, so that a sample of which everything is ignored is
// right: as in scikit-learn's accuracy_score of labels that agree where they are ignored. A sample
// of which something is out of range is left out.
//
// compute()  float32 [], 0 where there are no samples. With MultidimAverage::kSamplewise [N], of
// each
//            element of the first dimension: of several classes whether it is right, of several
//            labels the part of its samples that are.
class ExactMatchMetric : public ClassificationMetric {
public:
  using Counts = at::Tensor; // int64 [2] or [N, 2]: samples that are right, samples

protected:
  ExactMatchMetric(const char *formula, const TaskConfig &config)
      : ClassificationMetric(formula, config, Tally::kSamples) {}
};

struct ExactMatchFormula : PlainFormula {
  static constexpr const char *kName = "ExactMatch";
  static at::Tensor value(const at::Tensor &counts) {
    const at::Tensor real = wide(counts);
    return safe_divide(real.select(-1, 0), real.select(-1, 1));
  }
};

DEVSAN_CLASSIFICATION_METRIC(
    MulticlassExactMatch, multiclass_exact_match,
    FormulaMetric<ExactMatchMetric, ExactMatchFormula, OfSamples<Multiclass>::template Options>)
DEVSAN_CLASSIFICATION_METRIC(
    MultilabelExactMatch, multilabel_exact_match,
    FormulaMetric<ExactMatchMetric, ExactMatchFormula, OfSamples<Multilabel>::template Options>)

} // namespace devsan::metrics
