// The family of metrics that are the mean (or sum) of what each sample's scores cost given its
// target. A metric of the family is a formula: the cost, once as a loop over a row in the host's
// memory and once as operators.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "metrics/classification/each_sample.h"
#include "metrics/classification/task.h"
#include "metrics/detail/evaluate.h"
#include "metrics/metric.h"
#include "metrics/regression/reduction.h"
#include "metrics/weighted_metric.h"

namespace devsan::metrics {

template <class Self> class LossOptions : public TaskOptions<Self> {
  // Scores are logits: their sigmoid, of several classes their softmax, is what the metric is of.
  // None: see ThresholdOptions.
  DEVSAN_SHARED_ARG(std::optional<bool>, from_logits) = false;
  // Of the result. float64 needs a device that has it.
  DEVSAN_SHARED_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  DEVSAN_SHARED_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
};

template <class Self> class BinaryLoss : public LossOptions<Self> {
public:
  static constexpr Task kTask = Task::kBinary;
};

template <class Self> class MulticlassLoss : public OfClasses<Self, LossOptions<Self>> {
public:
  MulticlassLoss(int64_t num_classes) : OfClasses<Self, LossOptions<Self>>(num_classes) {}
};

// What the rows of a batch in the host's memory come to.
struct LossSums {
  std::vector<double> losses; // of each output
  double weight = 0;
  int64_t counted = 0, out_of_range = 0;
};

// update()   preds, target: see the task in task.h; floating scores alone. weight: of target's
//            shape. Half and bfloat16 are widened to float32. Out of range are targets that are no
//            class, and scores that are no probabilities, or NaN where they need not be; see
//            Validate.
// compute()  [], or [outputs], of the option's dtype; NaN where there were no samples, or weights
//            of sum 0. Where deferred validation has met samples out of range, it throws for states
//            on the CPU; on other devices, where it must not wait, the result is NaN, and
//            check_valid() tells how many.
//
// States: the number of samples that came without weights, the sum of the others' weights, the sum
// of the losses, the number of samples out of range. On the CPU they are computed in one pass over
// the scores, after the softmax of logits in blocks that stay in the cache.
class SampleLoss : public SupervisedMetric, public WeightedMetric {
public:
  std::string name() const final { return name_; }
  void update(const at::Tensor &preds, const at::Tensor &target) final {
    update(preds, target, at::Tensor());
  }
  void update(const at::Tensor &preds, const at::Tensor &target, const at::Tensor &weight) final;
  at::Tensor compute() const final;

  // Throws if deferred validation has left out samples. Reads one number from the device.
  void check_valid() const;

protected:
  struct Traits {
    TaskConfig config;
    bool of_probabilities; // else the scores() need only not be NaN
    int64_t outputs = 1;
    Reduction reduction = Reduction::kMean;
    at::ScalarType dtype = at::kFloat;
    std::optional<Accumulation> accumulation;
  };

  SampleLoss(std::string name, Traits traits);

  const TaskConfig &config() const { return traits_.config; }
  bool of_probabilities() const { return traits_.of_probabilities; }

  // Throws where shapes or dtypes are wrong.
  virtual void check_shapes(const at::Tensor &preds, const at::Tensor &target) const;
  // The scores as they came, [n, classes], binary [n, 1]; float32 or float64.
  virtual at::Tensor rows(const at::Tensor &preds) const;

  // What the losses are computed from, of the shape of `rows`.
  virtual at::Tensor scores(const at::Tensor &rows) const = 0;
  // Of each sample, [n, outputs]; target int64 [n, 1] is a class.
  virtual at::Tensor losses(const at::Tensor &scores, const at::Tensor &target) const = 0;
  // The same of a batch in the host's memory, added to `sums`; `weight` may be null.
  virtual void add(const detail::ScoreRows<float> &rows, const double *weight,
                   LossSums &sums) const = 0;
  virtual void add(const detail::ScoreRows<double> &rows, const double *weight,
                   LossSums &sums) const = 0;
  // The result of the mean or sum, [outputs].
  virtual at::Tensor value(const at::Tensor &reduced) const { return reduced; }

  // add() of a formula.
  template <class Formula, typename T>
  void add_rows(const Formula &formula, const detail::ScoreRows<T> &rows, const double *weight,
                LossSums &sums) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const detail::ScoreRange<T> range = of_probabilities()
                                            ? detail::ScoreRange<T>{0, 1}
                                            : detail::ScoreRange<T>{-kInfinity, kInfinity};
    sums.out_of_range +=
        detail::each_sample(rows, range, [&](int64_t i, int64_t label, const T *scores) {
          const double factor = weight ? weight[i] : 1;
          formula.add(config(), scores, rows.width, label, factor, sums.losses.data());
          sums.weight += factor;
          ++sums.counted;
        });
  }

  std::string signature() const override;

private:
  void update_on_cpu(const at::Tensor &rows, const at::Tensor &labels, const at::Tensor &weights);
  void update_on_device(const at::Tensor &rows, const at::Tensor &labels,
                        const at::Tensor &weights);

  std::string name_;
  Traits traits_;
  TaskConfig fault_; // what errors speak of
};

// The metric of a formula:
//   struct Formula {
//     static constexpr const char *kName;                    // without the task
//     template <template <class> class TaskT> using Options;
//     explicit Formula(const Options &);
//     std::string signature() const;                         // of its own options
//     Reduction reduction() const;
//     int64_t outputs(const TaskConfig &) const;
//     bool of_probabilities(const TaskConfig &) const;       // see SampleLoss, as what follows
//     at::Tensor scores(const TaskConfig &, const at::Tensor &rows) const;
//     at::Tensor losses(const TaskConfig &, const at::Tensor &scores,
//                       const at::Tensor &target) const;
//     // Adds the losses of a sample of `width` scores, times its weight, to the sums.
//     template <typename T>
//     void add(const TaskConfig &, const T *scores, int64_t width, int64_t label, double weight,
//              double *sums) const;
//   };
template <class Formula, template <class> class TaskT> class LossMetric final : public SampleLoss {
public:
  using Options = typename Formula::template Options<TaskT>;

  explicit LossMetric(const Options &options)
      : LossMetric(options, Formula(options), TaskConfig(options)) {}
  LossMetric()
    requires std::is_default_constructible_v<Options>
      : LossMetric(Options()) {}

  std::unique_ptr<Metric> clone() const override { return std::make_unique<LossMetric>(*this); }

protected:
  at::Tensor scores(const at::Tensor &rows) const override {
    return formula_.scores(config(), rows);
  }
  at::Tensor losses(const at::Tensor &scores, const at::Tensor &target) const override {
    return formula_.losses(config(), scores, target);
  }
  void add(const detail::ScoreRows<float> &rows, const double *weight,
           LossSums &sums) const override {
    add_rows(formula_, rows, weight, sums);
  }
  void add(const detail::ScoreRows<double> &rows, const double *weight,
           LossSums &sums) const override {
    add_rows(formula_, rows, weight, sums);
  }
  std::string signature() const override { return SampleLoss::signature() + formula_.signature(); }

private:
  LossMetric(const Options &options, const Formula &formula, const TaskConfig &config)
      : SampleLoss(task_name(config.task) + std::string(Formula::kName),
                   {config, formula.of_probabilities(config), formula.outputs(config),
                    formula.reduction(), options.dtype(), options.accumulation()}),
        formula_(formula) {}

  Formula formula_;
};

} // namespace devsan::metrics

// Gives a metric its public names: the class, its options and its functional form.
#define DEVSAN_LOSS_METRIC(Class, function, ...)                                                   \
  using Class = __VA_ARGS__;                                                                       \
  using Class##Options = Class::Options;                                                           \
  inline at::Tensor function(const at::Tensor &preds, const at::Tensor &target,                    \
                             const Class##Options &options, const at::Tensor &weight = {}) {       \
    return detail::evaluate<Class>(options, preds, target, weight);                                \
  }
