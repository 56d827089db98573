// The base of the metrics that are functions of counts: it takes in the batches, validates them and
// keeps the sums; a family says what is counted, a metric what the counts come to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metrics/classification/counts.h"
#include "metrics/detail/evaluate.h"
#include "metrics/metric.h"
#include "metrics/weighted_metric.h"

namespace devsan::metrics {

// update()   see the task, in task.h.
// compute()  float32, if the metric says nothing else. Where deferred validation has met samples
//            out of range, it throws for states on the CPU; on other devices, where it must not
//            wait, every number of the result is NaN (of an integer result -1), and check_valid()
//            tells how many.
//
// Counts are int64, so that no sample is lost however many there are; with the option `weighted`
// they are sums of weights, and `weight` has one for each sample: of target's shape, of several
// labels without their dimension, [N] where samples of several parts are right as a whole.
class ClassificationMetric : public SupervisedMetric, public WeightedMetric {
public:
  std::string name() const final { return name_; }
  void update(const at::Tensor &preds, const at::Tensor &target) final {
    update(preds, target, at::Tensor());
  }
  void update(const at::Tensor &preds, const at::Tensor &target, const at::Tensor &weight) override;
  at::Tensor compute() const final;

  // Throws if samples were left out because they were out of range. Reads one number from the
  // device.
  void check_valid() const;

protected:
  // `formula` without the task: "Precision" for BinaryPrecision.
  ClassificationMetric(const char *formula, const TaskConfig &config, Tally tally);
  // With states of the family's own; it overrides update(), verdict() and out_of_range().
  ClassificationMetric(const char *formula, const TaskConfig &config, std::vector<StateSpec> specs);

  const TaskConfig &config() const { return config_; }
  std::string signature() const override { return config_.signature(); }
  // A family with counts of its own says itself whether they can be shared.
  std::string state_signature() const override;

  void check_loaded(const std::vector<at::Tensor> &states) const override;

  // The counts of a batch that has passed check_shapes().
  virtual BatchCounts count(const at::Tensor &preds, const at::Tensor &target) const;
  // The same with the samples' weights, see sample_weights().
  virtual BatchCounts weigh(const at::Tensor &preds, const at::Tensor &target,
                            const at::Tensor &weights) const;

  // That an update can be made of these inputs.
  void check_batch(const at::Tensor &preds, const at::Tensor &target,
                   const at::Tensor &weight) const;
  static StateSpec::Kind kind_of_counts(const TaskConfig &config) {
    return config.weighted ? StateSpec::Kind::kMoment : StateSpec::Kind::kCount;
  }

  // What the counts of all batches, int64 or of weights real, come to.
  virtual at::Tensor value(const at::Tensor &counts) const = 0;

  // What the state holds, as numbers: int64, or the sums of weights.
  at::Tensor summed(const at::Tensor &state) const;

  // For compute(): the value, and how many samples were out of range, int64 [] or [1].
  struct Verdict {
    at::Tensor value, out_of_range;
  };
  virtual Verdict verdict() const;
  virtual at::Tensor out_of_range() const;

  // The end of compute(): the value as float32 (counts: int64), unless samples were out of range.
  at::Tensor shown(const Verdict &verdict) const;

private:
  void update_each(const at::Tensor &preds, const at::Tensor &target);
  BatchCounts counted(const at::Tensor &preds, const at::Tensor &target,
                      const at::Tensor &weight) const;
  bool whole_samples() const { return tally_ == Tally::kSamples; }

  std::string name_;
  TaskConfig config_;
  std::optional<Tally> tally_;
};

// The metric of a formula, of a family that derives from ClassificationMetric:
//   struct Formula {
//     static constexpr const char *kName;                    // without the task
//     template <template <class> class TaskT> using Options; // PlainOptions<TaskT>, ...
//     static at::Tensor value(const Counts &counts);         // as the family passes them on
//     static constexpr bool kByClass;                        // optional, see TaskConfig::by_class
//   };
template <class Family, class Formula, template <class> class TaskT>
class FormulaMetric final : public Family {
public:
  using Options = typename Formula::template Options<TaskT>;

  explicit FormulaMetric(const Options &options) : Family(Formula::kName, configured(options)) {}
  FormulaMetric()
    requires std::is_default_constructible_v<Options>
      : FormulaMetric(Options()) {}

  std::unique_ptr<Metric> clone() const override { return std::make_unique<FormulaMetric>(*this); }

  // What compute() holds, by name, of a formula that has names for it (Formula::Result).
  auto result() const
    requires requires { typename Formula::Result; }
  {
    return this->named(Formula::result, requires { Formula::kDescending; });
  }

  // The same of each class, of formulas of curves: with thresholds not given, each class has points
  // of its own, as many as it has scores.
  auto results() const
    requires requires { Formula::kCurve; }
  {
    return this->named_by_class(Formula::value, Formula::result);
  }

protected:
  at::Tensor value(const typename Family::Counts &counts) const override {
    return Formula::value(counts);
  }

private:
  static TaskConfig configured(const Options &options) {
    TaskConfig config(options);
    config.by_class = requires { Formula::kByClass; };
    config.is_curve = requires { Formula::kCurve; };
    if constexpr (requires { Formula::of_curve; })
      config.of_curve = Formula::of_curve;
    return config;
  }
};

// What most formulas have for options.
struct PlainFormula {
  template <template <class> class TaskT> using Options = PlainOptions<TaskT>;
};
struct ZeroDivisionFormula {
  template <template <class> class TaskT> using Options = ZeroDivisionOptions<TaskT>;
};

// Warns of how many numbers are 0, where they lie on the CPU and can be looked at.
void warn_of_zeros(const at::Tensor &numbers, const char *text);

// Counts as real numbers, in the widest format that their device has.
at::Tensor wide(const at::Tensor &counts);

} // namespace devsan::metrics

// Gives a metric its public names: the class, its options and its functional form.
#define DEVSAN_CLASSIFICATION_METRIC(Class, function, ...)                                         \
  using Class = __VA_ARGS__;                                                                       \
  using Class##Options = Class::Options;                                                           \
  inline at::Tensor function(const at::Tensor &preds, const at::Tensor &target,                    \
                             const Class##Options &options, const at::Tensor &weight = {}) {       \
    return detail::evaluate<Class>(options, preds, target, weight);                                \
  }
