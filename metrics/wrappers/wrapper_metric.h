// What metrics made of other metrics share. Their states are those of the metrics that they are
// made of, so that reset(), to(), merge(), sync() and state_dict() are those of any metric;
// states() has only what a wrapper adds itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metrics/metric.h"

namespace devsan::metrics {

class WrapperMetric : public SupervisedMetric {
public:
  // NOLINTNEXTLINE(bugprone-parent-virtual-call): that of the parts, not of its own states alone
  std::optional<at::Device> device() const final { return Stateful::device(); }

protected:
  // A metric that belongs to a wrapper: what copies a wrapper clones it.
  class Part {
  public:
    explicit Part(const SupervisedMetric &metric) : metric_(detail::cloned(metric)) {}
    Part(const Part &other) : Part(*other) {}
    Part(Part &&) = default;
    Part &operator=(Part &&) = default;

    SupervisedMetric &operator*() const { return *metric_; }
    SupervisedMetric *operator->() const { return metric_.get(); }

  private:
    std::unique_ptr<SupervisedMetric> metric_;
  };

  // `own`: states beside those of the parts.
  explicit WrapperMetric(std::vector<StateSpec> own = {}) : SupervisedMetric(std::move(own)) {}

  // The metric that a wrapper is made of; throws if it has seen something.
  static Part fresh_part(const char *wrapper, const SupervisedMetric &metric);
};

} // namespace devsan::metrics
