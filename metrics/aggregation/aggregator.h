// What the aggregators share: numbers of any dtype in, widened; what happens to NaN; a window over
// the last updates.
//
// Whether there was a NaN is known to the device alone, so that "error" and "warn" are deferred:
// NaN is left out and counted, and compute() speaks of it where the states are on the CPU. On other
// devices, where it must not wait, the result is NaN for "error" and that of the other values for
// "warn", and check_nan() tells. CPU inputs are looked at in update() already (Validate).
#pragma once

#include <optional>
#include <string>

#include <torch/arg.h>

#include "metrics/detail/text.h"
#include "metrics/metric.h"
#include "metrics/result_options.h"
#include "metrics/validate.h"

namespace devsan::metrics {

// What an aggregator makes of NaN, as a value or as its weight.
class NanStrategy {
public:
  enum Action {
    kError,   // an error; left out
    kWarn,    // a warning; left out
    kIgnore,  // left out
    kDisable, // a value like others
    kReplace, // replaced by a number, of weight 1
  };

  NanStrategy(Action action) : action_(action) {
    TORCH_CHECK(action != kReplace, "NanStrategy: pass the number that replaces NaN");
  }
  NanStrategy(double replacement) : action_(kReplace), replacement_(replacement) {}

  Action action() const { return action_; }
  double replacement() const { return replacement_; }
  std::string text() const {
    return std::to_string(action_) + " " + detail::exact_text(replacement_);
  }

private:
  Action action_;
  double replacement_ = 0;
};

// The options of MeanMetric, SumMetric, MaxMetric and MinMetric.
struct AggregatorOptions : ResultOptionsOf<AggregatorOptions> {
  AggregatorOptions(NanStrategy nan_strategy = NanStrategy::kWarn) : nan_strategy_(nan_strategy) {}
  TORCH_ARG(NanStrategy, nan_strategy);
  // When NaN is noticed, for kError and kWarn.
  TORCH_ARG(Validate, validate) = Validate::kAuto;
};

// The options of RunningMean and RunningSum.
struct RunningOptions : ResultOptionsOf<RunningOptions> {
  RunningOptions(int64_t window = 5) : window_(window) {}
  // Of how many updates the value is.
  TORCH_ARG(int64_t, window);
  TORCH_ARG(NanStrategy, nan_strategy) = NanStrategy::kWarn;
  // When NaN is noticed, for kError and kWarn.
  TORCH_ARG(Validate, validate) = Validate::kAuto;
};

class Aggregator : public Metric {
public:
  // Throws (kError) or warns (kWarn) if there is NaN among the values seen, or in the window, that
  // update() has not spoken of. Reads one number from the device.
  void check_nan() const;

protected:
  // `states` are those of the value, each of size [1]. With a window, which is positive, there is
  // one of each for each of the last updates, the newest first, so that merged metrics are of the
  // last updates of each.
  Aggregator(const std::vector<StateSpec> &states, const AggregatorOptions &options,
             std::optional<int64_t> window = std::nullopt);

  // Checks the inputs of update(), of which `weight` may be undefined.
  void check(const at::Tensor &value, const at::Tensor &weight = {}) const;

  // One batch, 1-d, in the base dtype, or in that of the inputs for those that only compare.
  struct Batch {
    at::Tensor value;
    at::Tensor weight;   // undefined where none was given
    at::Tensor left_out; // bool, where value and weight are no longer NaN but 0; undefined: nowhere
  };
  Batch batch(const at::Tensor &value, const at::Tensor &weight = {}) const;
  Batch batch_as_it_is(const at::Tensor &value) const;

  // Folds in a batch without weights in one pass on the CPU, where fused_sums() can: its sum into
  // the first state and, if there is one for that, its number into the second. Whether it has.
  bool fold_fused(const at::Tensor &value, bool counted);

  // The device and base dtype of sums there.
  at::TensorOptions real_on(at::Device device) const;

  // `number` on the metric's device, or on the CPU while it has none.
  at::Tensor scalar(double number) const;

  // The kMoment state of a batch whose sum is given.
  at::Tensor moment(const at::Tensor &sum) const;

  // Folds in the states of one batch.
  void fold(std::vector<at::Tensor> batch_states, const Batch &batch);

  // Folds in the largest or smallest value of a batch, for a metric whose one state is that.
  enum class Extreme { kMaximum, kMinimum };
  void fold_extreme(const at::Tensor &value, Extreme extreme);

  // For compute(): a kMoment over all of the window, and the quotient of two, [1].
  at::Tensor total(size_t index) const;
  at::Tensor quotient(size_t numerator, size_t denominator) const;

  // The end of compute(): says what is to be said of NaN, then gives `value` the result's dtype.
  at::Tensor result(const at::Tensor &value) const;

  std::string signature() const override;

private:
  Batch masked(Batch batch) const;
  static std::vector<StateSpec> windowed(std::vector<StateSpec> states, bool count_nans,
                                         std::optional<int64_t> window);
  void report(int64_t nans) const;

  AggregatorOptions options_;
  std::optional<int64_t> window_;
};

} // namespace devsan::metrics
