#pragma once

#include <concepts>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/stack.h>

#include "metrics/collection.h"

namespace devsan::metrics {

// The best of several values, and the number of the step that has it.
struct BestMetric {
  at::Tensor value;
  at::Tensor step; // int64
};
// `values` [steps, ...]; NaN is not the best of anything else, and the first of equal ones is.
BestMetric best_of(const at::Tensor &values, bool maximize);

// A metric, of any class, or a collection over steps, such as epochs, each of which has states of
// its own:
//   MetricTracker tracker(MulticlassAccuracy(10));
//   for (...) { tracker.increment(); ...; tracker.update(preds, target); }
//   tracker.best_metric().step
// No metric itself, since its value is not that of all it has seen; what can be done with states
// can be done with those of all steps at once. Checkpoints and other ranks must have as many steps.
template <std::derived_from<Stateful> M> class MetricTracker : public Stateful {
  static constexpr bool kCollection = std::derived_from<M, MetricCollection>;

public:
  // Whether a higher value is better; of a collection, in the order of its results.
  explicit MetricTracker(const M &metric, bool maximize = true)
      : MetricTracker(metric, std::vector<bool>{maximize}) {}
  MetricTracker(const M &metric, std::vector<bool> maximize)
      : metric_(metric), maximize_(std::move(maximize)) {
    TORCH_CHECK(metric.state_dict().is_empty(), name(), ": the ", metric.name(),
                " has seen batches already; pass one after reset()");
    TORCH_CHECK(!maximize_.empty() && (kCollection || maximize_.size() == 1), name(),
                ": maximize has ", maximize_.size(), " elements; pass one for each result");
  }

  std::string name() const override { return "MetricTracker"; }

  size_t n_steps() const { return steps_.size(); }
  // Begins a step.
  void increment() {
    steps_.push_back(steps_.empty() ? metric_ : steps_.back());
    steps_.back().reset();
  }

  // The metric of the current step; throws before increment().
  M &current() {
    check_step();
    return steps_.back();
  }
  const M &current() const {
    check_step();
    return steps_.back();
  }
  const M &operator[](size_t step) const { return steps_.at(step); }

  template <class... Arguments> void update(Arguments &&...arguments) {
    current().update(std::forward<Arguments>(arguments)...);
  }
  auto compute() const { return current().compute(); }

  // The values of all steps, [n_steps, ...]; of a collection, for each result.
  auto compute_all() const {
    check_step();
    if constexpr (kCollection) {
      torch::OrderedDict<std::string, std::vector<at::Tensor>> lists("Value");
      for (const M &step : steps_)
        for (const auto &result : step.compute()) {
          if (!lists.contains(result.key()))
            lists.insert(result.key(), {});
          lists[result.key()].push_back(result.value());
        }
      torch::OrderedDict<std::string, at::Tensor> stacked("Value");
      for (const auto &list : lists)
        stacked.insert(list.key(), at::stack(list.value()));
      return stacked;
    } else {
      std::vector<at::Tensor> values;
      for (const M &step : steps_)
        values.push_back(step.compute());
      return at::stack(values);
    }
  }

  // The best value of all steps; of a collection, of each result. On the device: nobody waits.
  auto best_metric() const {
    if constexpr (kCollection) {
      const auto all = compute_all();
      TORCH_CHECK(maximize_.size() == 1 || maximize_.size() == all.size(), name(),
                  ": maximize has ", maximize_.size(), " elements, but the collection ", all.size(),
                  " results; pass one for each");
      torch::OrderedDict<std::string, BestMetric> best("Value");
      for (const auto &values : all)
        best.insert(values.key(),
                    best_of(values.value(), maximize_[maximize_.size() == 1 ? 0 : best.size()]));
      return best;
    } else {
      return best_of(compute_all(), maximize_.front());
    }
  }

  // Forgets what the current step has seen, or all.
  void reset() { current().reset(); }
  void reset_all() { Stateful::reset(); }

  // Of all steps, and of those to come.
  void to(at::Device device) {
    Stateful::to(device);
    metric_.to(device);
  }
  using Stateful::device_policy;
  void device_policy(DevicePolicy policy) {
    Stateful::device_policy(policy);
    metric_.device_policy(policy);
  }

  // Step by step; both must have as many.
  void merge(const MetricTracker &other) { merge_states(other); }

protected:
  void collect(const std::string &prefix, Holders &holders) const override {
    for (size_t i = 0; i < steps_.size(); ++i)
      collect_from(steps_[i], prefix + std::to_string(i) + ".", holders);
  }
  std::string signature() const override {
    return c10::str(metric_.description(), ", n_steps=", n_steps());
  }

private:
  void check_step() const {
    TORCH_CHECK(!steps_.empty(), name(), ": there is no step yet; call increment() first");
  }

  M metric_;
  std::vector<bool> maximize_;
  std::deque<M> steps_;
};

} // namespace devsan::metrics
