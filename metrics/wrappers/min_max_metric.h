#pragma once

#include "metrics/wrappers/wrapper_metric.h"

namespace devsan::metrics {

// The value of a metric, and the largest and smallest that compute() has given since reset().
//
// update()        as the metric's.
// compute()       [3] of the metric's dtype: value, largest, smallest; no wait for the device. NaN
//                 is neither the largest nor the smallest; before any other value they are
//                 -infinity and infinity.
// compute_dict()  the same as "raw", "max" and "min".
//
// What is computed while synchronised counts after unsync(), too, so that the extremes over epochs
// are those of all ranks together. The metric has to have one value.
class MinMaxMetric : public WrapperMetric {
public:
  explicit MinMaxMetric(const SupervisedMetric &base_metric);
  DEVSAN_METRIC(MinMaxMetric)
  void update(const at::Tensor &preds, const at::Tensor &target) override;
  at::Tensor compute() const override;
  torch::OrderedDict<std::string, at::Tensor> compute_dict() const override;

protected:
  void collect(const std::string &prefix, Holders &holders) const override;
  std::string signature() const override { return base_->description(); }
  Metric &sharer() override { return sharer_of(*base_); }

private:
  Part base_;
};

} // namespace devsan::metrics
