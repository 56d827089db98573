#pragma once

#include <torch/arg.h>

#include "metrics/wrappers/wrapper_metric.h"

namespace devsan::metrics {

struct MetricWindowOptions {
  MetricWindowOptions(int64_t window = 5) : window_(window) {}
  // Of how many updates the value is.
  TORCH_ARG(int64_t, window);
};

// Any metric over the last `window` updates. Aggregators have theirs, see RunningMean.
//
// update()   as the metric's.
// compute()  as the metric's, of the updates in the window: their states are merged anew each time,
//            the oldest first, so that nothing drifts. Merged and synchronised metrics are of the
//            last updates of each.
//
// With another DevicePolicy than kFollow the states of an update stay where its inputs were, and
// the value is computed where those of the newest are.
//
// Memory: `window` times the metric's states, the newest under "0." in state_dict().
class Running : public WrapperMetric {
public:
  explicit Running(const SupervisedMetric &base_metric, const MetricWindowOptions &options = {});
  DEVSAN_METRIC(Running)
  void update(const at::Tensor &preds, const at::Tensor &target) override;
  at::Tensor compute() const override;
  torch::OrderedDict<std::string, at::Tensor> compute_dict() const override;

  // Adds what `updates` have seen, the newest first, to `total`, which has seen nothing.
  static void add_up(Metric &total, const std::vector<const Metric *> &updates);

protected:
  void collect(const std::string &prefix, Holders &holders) const override;
  std::string signature() const override;

private:
  Part total() const;

  std::vector<Part> updates_; // the newest first
};

} // namespace devsan::metrics
