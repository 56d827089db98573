// Metrics of the order of all samples: the inputs are kept, as references, and concatenated when
// their value is asked for.
#pragma once

#include "metrics/regression/regression_metric.h"

namespace devsan::metrics {

class RankCorrelation : public RegressionMetric {
public:
  // preds, target  real tensors of one shape, [N], or [N, num_outputs]; [N, 1] is fine for one
  // output. N may be 0. Each must keep its dtype or be promoted to a common one. They are kept as
  // they are: no copy is made, and they must not be written to, which compute() notices (unless
  // they were made in inference mode).
  void update(const at::Tensor &preds, const at::Tensor &target) override;

protected:
  RankCorrelation(int64_t num_outputs, at::ScalarType dtype);

  std::string state_signature() const final {
    return "preds and target, " + RegressionMetric::signature();
  }

  void check_loaded(const std::vector<at::Tensor> &states) const final;

  // For compute(): all samples, [num_outputs, N].
  struct All {
    at::Tensor preds, target;
    int64_t n;
    at::Tensor any_nan;  // bool [num_outputs]
    at::ScalarType base; // what to compute in
  };
  All all() const;

  // NaN for each output.
  at::Tensor undefined(const All &inputs) const;

  // Where the numbers of each row of `x` [k, N], N >= 1, stand in its order, all int64 [k, N]; the
  // number of ties is not looked at by the host.
  struct Places {
    at::Tensor sorted, order;
    at::Tensor below, up_to; // of the sorted numbers: how many are below, how many not above them

    // `sorted_values` in the order of `x` again.
    at::Tensor restored(const at::Tensor &sorted_values) const;
  };
  static Places places(const at::Tensor &x);
};

} // namespace devsan::metrics
