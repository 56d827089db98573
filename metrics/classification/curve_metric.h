// The family of metrics of scores at thresholds: curves, the areas under them and points on them.
// With thresholds given, scores are counted; without, all are kept and each is a threshold. A
// metric of the family is a formula, as in stat_scores_metric.h, and the same for both.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "metrics/classification/classification_metric.h"
#include "metrics/detail/constant.h"
#include "metrics/functional/safe_divide.h"

namespace devsan::metrics {

// What is predicted at each threshold, as real numbers: a row for each class or label, one against
// the rest, or one row for binary tasks and the micro average.
struct CurveCounts {
  at::Tensor tp, fp;               // [rows, thresholds]: scores >= the threshold
  at::Tensor positives, negatives; // [rows, 1]
  at::Tensor thresholds;           // ascending, float32 [thresholds]; if not given, of the scores'
                                   // dtype [rows, thresholds], and see CurveMetric
  const TaskConfig &config;

  // Whether the thresholds are the scores.
  bool exact() const { return !config.thresholds; }

  // TorchMetrics has 0 for a rate of no samples.
  at::Tensor tpr() const { return safe_divide(tp, positives); }
  at::Tensor fpr() const { return safe_divide(fp, negatives); }

  // The same for results: of one row, [thresholds].
  at::Tensor shown_thresholds() const {
    return exact() && one_row() ? thresholds.squeeze(0) : thresholds;
  }

  bool one_row() const { return config.task == Task::kBinary || config.average == Average::kMicro; }

  // [2, ...] of two results of each row.
  at::Tensor stacked(const at::Tensor &a, const at::Tensor &b) const;

  // The result from the rows' scores, [rows]: all rows belong to the macro average.
  at::Tensor averaged(const at::Tensor &score) const;
};

// [2, thresholds]: false and true positive rate, both ascending.
at::Tensor rates(const CurveCounts &counts);

// What a warning says of classes without targets, with scikit-learn's and TorchMetrics' words.
constexpr const char *kNoPositives =
    " of the classes: No positive samples found in target, recall is undefined. Setting recall to "
    "one for all thresholds.";

// The numbers of each threshold, from the highest threshold down.
at::Tensor descending(const at::Tensor &x);

// update()   preds floating, see the task in task.h; of several classes probabilities of each,
//            [N, C, ...]. Half and bfloat16 are compared in float32, float64 in itself. A
//            multiclass sample with a score out of range is out of range as a whole.
// compute()  see ClassificationMetric. Of several results, it is them stacked along a new first
//            dimension, and result() has them by name, with the thresholds.
//
// With thresholds, the probabilities of logits are computed in the dtype that is compared, so that
// float32 logits from about 17 have probability 1.
// State: int64 [2, classes, thresholds + 1], how many samples that belong to the class not (0) or
// do (1) have a score at which so many of the thresholds are reached.
//
// Without, the result is that of all distinct scores; logits are compared before they are rounded
// to probabilities. update() keeps the tensors themselves, no copies; they must not be written to,
// which compute() notices (unless they were made in inference mode), and all but their first
// dimension (binary: none) stays the same. compute() sorts, N log N for each class, a part of the
// classes at a time where no curve is asked for, so that memory is bounded. Curves have as
// many points as there are distinct scores, which compute() waits for; all else does not wait.
// Of several classes, the curve with most scores decides the length, and others repeat their point
// of the lowest threshold; results() has each class's own.
// State: the lists preds and target; with the option `weighted` also weight, and the counts above
// are real. Weights must not be negative, since curves would not ascend.
class CurveMetric : public ClassificationMetric {
public:
  using Counts = CurveCounts;

  using ClassificationMetric::update;
  void update(const at::Tensor &preds, const at::Tensor &target, const at::Tensor &weight) final;

  // The given ones, float32, ascending, on the device of the states; throws where there is none
  // yet, and where thresholds were not given.
  at::Tensor thresholds() const;

protected:
  CurveMetric(const char *formula, const TaskConfig &config);

  std::string state_signature() const final { return "curve, " + config().state_signature(); }
  void check_loaded(const std::vector<at::Tensor> &states) const final;
  BatchCounts count(const at::Tensor &preds, const at::Tensor &target) const final;
  BatchCounts weigh(const at::Tensor &preds, const at::Tensor &target,
                    const at::Tensor &weights) const final;
  Verdict verdict() const final;
  at::Tensor out_of_range() const final;
  at::Tensor value(const at::Tensor &counts) const final;
  virtual at::Tensor value(const CurveCounts &counts) const = 0;

  // The results by name.
  template <class Result>
  Result named(Result (*name)(const at::Tensor &computed, const at::Tensor &thresholds),
               bool descending) const {
    const StateScope scope;
    if (!config().is_curve)
      return name(shown(verdict()), at::Tensor());
    const Curves all = curves();
    if constexpr (requires(const Result &curve) { curve.thresholds; })
      if (config().average == Average::kMacro)
        return named_macro(all, name, descending);
    return name(shown({value(all.counts), all.out_of_range}), all.counts.shown_thresholds());
  }
  template <class Result>
  std::vector<Result> named_by_class(at::Tensor (*value)(const CurveCounts &),
                                     Result (*name)(const at::Tensor &computed,
                                                    const at::Tensor &thresholds)) const {
    const StateScope scope;
    const Curves all = curves();
    const TaskConfig config = one_class();
    std::vector<Result> results;
    for (int64_t row = 0; row < all.counts.tp.size(0); ++row) {
      const CurveCounts own = counts_of_row(all, row, config);
      results.push_back(name(shown({value(own), all.out_of_range}), own.shown_thresholds()));
    }
    return results;
  }

private:
  struct Curves {
    CurveCounts counts;
    at::Tensor out_of_range;
    std::vector<int64_t> lengths; // of each row of an exact curve, the last ones
  };
  template <class Result>
  Result named_macro(const Curves &all,
                     Result (*name)(const at::Tensor &computed, const at::Tensor &thresholds),
                     bool descending) const {
    std::vector<at::Tensor> thresholds;
    const TaskConfig config = one_class();
    for (int64_t row = 0; row < all.counts.tp.size(0); ++row) {
      const CurveCounts own = counts_of_row(all, row, config);
      thresholds.push_back(name(value(own), own.shown_thresholds()).thresholds);
    }
    const at::Tensor curve = shown({macro(all), all.out_of_range});
    return {curve[0], curve[1], in_order(at::cat(thresholds), descending)};
  }
  Curves curves() const;
  // [2, points of all classes], of what curve_of() is of each: see MulticlassCurves.
  template <class CurveOf> at::Tensor macro(const Curves &all, const CurveOf &curve_of) const;
  at::Tensor macro(const Curves &all) const;
  static at::Tensor in_order(const at::Tensor &x, bool descending);
  CurveCounts binned(const at::Tensor &counts) const;
  static CurveCounts exact(const ScoredSamples &samples, const TaskConfig &config);
  TaskConfig one_class() const;
  static CurveCounts counts_of_row(const Curves &curves, int64_t row, const TaskConfig &config);
  ScoredSamples all_samples() const;
  BatchCounts count_by_operators(const at::Tensor &preds, const at::Tensor &target,
                                 const at::Tensor &weights) const;
  void check_scores(const at::Tensor &preds) const;
  at::Tensor thresholds_on(at::Device device) const;

  detail::Constant thresholds_;
};

template <class Formula, template <class> class TaskT>
using CurveScore = FormulaMetric<CurveMetric, Formula, TaskT>;

// The functional form of a metric of several results.
template <class AMetric>
auto evaluate_result(const at::Tensor &preds, const at::Tensor &target,
                     const typename AMetric::Options &options, const at::Tensor &weight) {
  AMetric metric(options);
  metric.update(preds, target, weight);
  return metric.result();
}

} // namespace devsan::metrics

// DEVSAN_CLASSIFICATION_METRIC for a metric of several results: the functional form gives them by
// name.
#define DEVSAN_CURVE_METRIC(Class, function, ...)                                                  \
  using Class = __VA_ARGS__;                                                                       \
  using Class##Options = Class::Options;                                                           \
  inline auto function(const at::Tensor &preds, const at::Tensor &target,                          \
                       const Class##Options &options, const at::Tensor &weight = {}) {             \
    return evaluate_result<Class>(preds, target, options, weight);                                 \
  }
