#include "metrics/wrappers/running.h"

namespace devsan::metrics {

Running::Running(const SupervisedMetric &base_metric, const MetricWindowOptions &options) {
  TORCH_CHECK(options.window() >= 1, name(), ": window is ", options.window(), "; pass at least 1");
  for (int64_t i = 0; i < options.window(); ++i)
    updates_.push_back(fresh_part("Running", base_metric));
}

void Running::update(const at::Tensor &preds, const at::Tensor &target) {
  check_inputs({{"preds", preds}, {"target", target}});
  check_not_captured(preds.device(), "its window moves on by one metric in each call");
  Part newest(*updates_.back()); // on the device where it was pinned
  newest->reset();
  newest->update(preds, target);
  // The states move on, not the metrics: so what holds them all can take an update back.
  for (const Part &update : updates_)
    swap_states(*update, *newest);
}

WrapperMetric::Part Running::total() const {
  Part total(*updates_.front());
  total->reset();
  std::vector<const Metric *> updates;
  for (const Part &update : updates_)
    updates.push_back(&*update);
  add_up(*total, updates);
  return total;
}

void Running::add_up(Metric &total, const std::vector<const Metric *> &updates) {
  for (const Metric *update : updates)
    if (const auto device = update->device()) {
      total.to(*device);
      break;
    }
  for (auto update = updates.rbegin(); update != updates.rend(); ++update)
    merge_parts(total, **update);
}

at::Tensor Running::compute() const {
  return total()->compute();
}

torch::OrderedDict<std::string, at::Tensor> Running::compute_dict() const {
  return total()->compute_dict();
}

void Running::collect(const std::string &prefix, Holders &holders) const {
  for (size_t i = 0; i < updates_.size(); ++i)
    collect_from(*updates_[i], prefix + std::to_string(i) + ".", holders);
}

std::string Running::signature() const {
  return c10::str(updates_.front()->description(), ", window=", updates_.size());
}

} // namespace devsan::metrics
