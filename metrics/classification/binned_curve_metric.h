// The family of metrics of scores at fixed thresholds: curves, the areas under them and points on
// them. A metric of the family is a formula, as in stat_scores_metric.h.
#pragma once

#include <ATen/TensorOperators.h>

#include "metrics/classification/classification_metric.h"
#include "metrics/functional/safe_divide.h"

namespace devsan::metrics {

// What is predicted at each threshold, as real numbers: a row for each class or label, one against
// the rest, or one row for binary tasks and the micro average.
struct CurveCounts {
  at::Tensor tp, fp;               // [rows, thresholds]: scores >= the threshold
  at::Tensor positives, negatives; // [rows, 1]
  at::Tensor thresholds;           // float32 [thresholds], ascending
  const TaskConfig &config;

  // TorchMetrics has 0 for a rate of no samples.
  at::Tensor tpr() const { return safe_divide(tp, positives); }
  at::Tensor fpr() const { return safe_divide(fp, negatives); }

  bool one_row() const { return config.task == Task::kBinary || config.average == Average::kMicro; }

  // [2, ...] of two results of each row.
  at::Tensor stacked(const at::Tensor &a, const at::Tensor &b) const;

  // The result from the rows' scores, [rows]: all rows belong to the macro average.
  at::Tensor averaged(const at::Tensor &score) const;
};

// The numbers of each threshold, from the highest threshold down.
at::Tensor descending(const at::Tensor &x);

// update()   preds floating, see the task in task.h; of several classes probabilities of each,
//            [N, C, ...]. Half and bfloat16 are compared in float32, float64 in itself; the
//            probabilities of logits are computed in the same dtype, so that float32 logits from
//            about 17 have probability 1. A multiclass sample with a score out of range is out of
//            range as a whole.
// compute()  see ClassificationMetric. Of several results, it is them stacked along a new first
//            dimension, and result() has them by name, with the thresholds.
//
// State: int64 [2, classes, thresholds + 1], how many samples that belong to the class not (0) or
// do (1) have a score at which so many of the thresholds are reached.
class BinnedCurveMetric : public ClassificationMetric {
public:
  using Counts = CurveCounts;

  // float32, ascending, on the device of the states; throws where there is none yet.
  at::Tensor thresholds() const;

protected:
  BinnedCurveMetric(const char *formula, const TaskConfig &config);

  std::string state_signature() const final { return "binned, " + config().state_signature(); }
  BatchCounts count(const at::Tensor &preds, const at::Tensor &target) const final;
  at::Tensor value(const at::Tensor &counts) const final;
  virtual at::Tensor value(const CurveCounts &counts) const = 0;

private:
  const at::Tensor &thresholds_on(at::Device device) const;

  mutable at::Tensor thresholds_; // made once for a device
};

template <class Formula, template <class> class TaskT>
using CurveScore = FormulaMetric<BinnedCurveMetric, Formula, TaskT>;

// The functional form of a metric of several results.
template <class AMetric>
auto evaluate_result(const at::Tensor &preds, const at::Tensor &target,
                     const typename AMetric::Options &options) {
  AMetric metric(options);
  metric.update(preds, target);
  return metric.result();
}

} // namespace devsan::metrics

// DEVSAN_CLASSIFICATION_METRIC for a metric of several results: the functional form gives them by
// name.
#define DEVSAN_CURVE_METRIC(Class, function, ...)                                                  \
  using Class = __VA_ARGS__;                                                                       \
  using Class##Options = Class::Options;                                                           \
  inline auto function(const at::Tensor &preds, const at::Tensor &target,                          \
                       const Class##Options &options) {                                            \
    return evaluate_result<Class>(preds, target, options);                                         \
  }
