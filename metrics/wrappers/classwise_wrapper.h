#pragma once

#include <torch/arg.h>

#include "metrics/wrappers/wrapper_metric.h"

namespace devsan::metrics {

struct ClasswiseWrapperOptions {
  // Of the classes, in their order; by default their indices.
  TORCH_ARG(std::vector<std::string>, labels);
  // Before and after each label.
  TORCH_ARG(std::string, prefix) = "";
  TORCH_ARG(std::string, postfix) = "";
};

// The values of a metric that has one for each class, by the classes' labels.
//
// update(), compute()  as the metric's, whose value is [classes, ...].
// compute_dict()       each class' value under its label.
//
// In a collection it shares states as the metric alone would, and its results are
// "<name>_<label>"; TorchMetrics has the metric's class in lower case as the default prefix, which
// is a good name for it there.
class ClasswiseWrapper : public WrapperMetric {
public:
  explicit ClasswiseWrapper(const SupervisedMetric &metric,
                            const ClasswiseWrapperOptions &options = {});
  DEVSAN_METRIC(ClasswiseWrapper)
  void update(const at::Tensor &preds, const at::Tensor &target) override;
  at::Tensor compute() const override { return metric_->compute(); }
  torch::OrderedDict<std::string, at::Tensor> compute_dict() const override;

protected:
  void collect(const std::string &prefix, Holders &holders) const override;
  std::string signature() const override { return metric_->description(); }
  Metric &sharer() override { return sharer_of(*metric_); }

private:
  Part metric_;
  ClasswiseWrapperOptions options_;
};

} // namespace devsan::metrics
