// The family of metrics that are functions of the confusion matrix as a whole. What its margins and
// its diagonal suffice for belongs to the family of stat_scores_metric.h, which stores less.
#pragma once

#include "metrics/classification/classification_metric.h"
#include "metrics/functional/safe_divide.h"

namespace devsan::metrics {

// Row: target, column: prediction. int64 [num_classes, num_classes], of binary tasks [2, 2], of
// several labels [num_labels, 2, 2].
struct ConfusionCounts {
  at::Tensor exact;
  const TaskConfig &config;
};

class ConfusionMatrixMetric : public ClassificationMetric {
public:
  using Counts = ConfusionCounts;

protected:
  ConfusionMatrixMetric(const char *formula, const TaskConfig &config)
      : ClassificationMetric(formula, config, Tally::kMatrix) {}

  at::Tensor value(const at::Tensor &counts) const final { return value({counts, config()}); }
  virtual at::Tensor value(const ConfusionCounts &counts) const = 0;
};

template <class Formula, template <class> class TaskT>
using ConfusionScore = FormulaMetric<ConfusionMatrixMetric, Formula, TaskT>;

} // namespace devsan::metrics
