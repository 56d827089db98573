#include "metrics/wrappers/classwise_wrapper.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

ClasswiseWrapper::ClasswiseWrapper(const SupervisedMetric &metric,
                                   const ClasswiseWrapperOptions &options)
    : metric_(fresh_part("ClasswiseWrapper", metric)), options_(options) {}

void ClasswiseWrapper::update(const at::Tensor &preds, const at::Tensor &target) {
  metric_->update(preds, target);
}

torch::OrderedDict<std::string, at::Tensor> ClasswiseWrapper::compute_dict() const {
  const at::Tensor all = compute();
  const std::vector<std::string> &labels = options_.labels();
  TORCH_CHECK(all.dim() >= 1, name(), ": ", metric_->name(),
              " has one value for all classes; pass a metric with average kNone");
  TORCH_CHECK(labels.empty() || static_cast<int64_t>(labels.size()) == all.size(0), name(),
              ": there are ", labels.size(), " labels, but ", all.size(0), " values of ",
              metric_->name(), "; pass a label for each class");
  torch::OrderedDict<std::string, at::Tensor> named("Label");
  const std::vector<at::Tensor> values = all.unbind();
  for (size_t i = 0; i < values.size(); ++i)
    named.insert(options_.prefix() + (labels.empty() ? std::to_string(i) : labels[i]) +
                     options_.postfix(),
                 values[i]);
  return named;
}

void ClasswiseWrapper::collect(const std::string &prefix, Holders &holders) const {
  collect_from(*metric_, prefix, holders);
}

} // namespace devsan::metrics
