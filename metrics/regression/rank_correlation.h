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

  // For compute(): all samples, [num_outputs, N].
  struct All {
    at::Tensor preds, target;
    int64_t n;
    at::Tensor any_nan;  // bool [num_outputs]
    at::ScalarType base; // what to compute in
  };
  All all() const;

  // For each number of `x` [k, N] how many of its row are below it, and how many not above it;
  // int64 [k, N]. Without a host's look at the number of ties.
  struct Places {
    at::Tensor sorted, below, up_to;
  };
  static Places places(const at::Tensor &x);
};

} // namespace devsan::metrics
