// The family of metrics that are functions of each class's true and false positives and negatives.
// A metric of the family is a formula: its name, the options that it adds to the task's, and its
// value from the counts. See docs/design/metrics.md for what is stored and why.
#pragma once

#include <ATen/TensorOperators.h>

#include "metrics/classification/classification_metric.h"
#include "metrics/functional/safe_divide.h"

namespace devsan::metrics {

// One number for each class, in the last dimension (of binary tasks: for class 1), or one over all
// classes where the micro average needs no more. With a score of each sample, samples are the
// dimension before.
struct StatCounts {
  at::Tensor exact;          // int64 [4, classes] or [4, N, classes]: tp, fp, tn, fn
  at::Tensor tp, fp, tn, fn; // the same as real numbers
  const TaskConfig &config;

  bool multiclass() const { return config.task == Task::kMulticlass; }

  // The classes' scores from sums of counts, or their micro average, see `averaged`.
  at::Tensor ratio(const at::Tensor &num, const at::Tensor &denom) const {
    return safe_divide(num, denom, config.zero_division);
  }

  // Which classes of a multiclass task belong to the macro average: those that appear as target or
  // as prediction, or as target alone if top_k > 1, where a prediction is no longer one class.
  // TorchMetrics has the second in some metrics and the first in the others.
  enum class Appearing { kAsEither, kTopKAsTarget };

  // The result from the classes' scores; for binary tasks and the micro average, the one score.
  at::Tensor averaged(const at::Tensor &score, Appearing appearing = Appearing::kAsEither) const;
};

// update(), compute(): see ClassificationMetric. compute() is [] for binary tasks and averages,
// [num_classes] or [num_labels] for Average::kNone, where the metric says nothing else; with
// MultidimAverage::kSamplewise [N, ...] of these, in the order of the updates. Then the state is a
// list of the samples' counts, int64, and inputs need a dimension after the class.
class StatScoresMetric : public ClassificationMetric {
public:
  using Counts = StatCounts;

protected:
  StatScoresMetric(const char *formula, const TaskConfig &config);

  at::Tensor value(const at::Tensor &counts) const final;
  virtual at::Tensor value(const StatCounts &counts) const = 0;
};

template <class Formula, template <class> class TaskT>
using StatScore = FormulaMetric<StatScoresMetric, Formula, TaskT>;

// The same with MultidimAverage.
template <class Formula, template <class> class TaskT>
using StatScoreOfSamples = StatScore<Formula, OfSamples<TaskT>::template Options>;

} // namespace devsan::metrics
