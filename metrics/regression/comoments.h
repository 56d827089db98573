// Count, means, second central moments and co-moment of paired samples: the states of every metric
// that is a function of the joint first and second moments of predictions and targets. A metric
// derives from it and writes only compute().
//
// Each batch is reduced in two passes over the data (mean, then centred sums with the mean's own
// rounding error taken out) and folded in by the pairwise update of Chan, Golub and LeVeque,
// "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances" (1979), so that
// neither large means nor many batches cost digits. Half and bfloat16 inputs are widened first.
// Everything stays on the device; on the CPU the passes go without temporaries where they can.
#pragma once

#include "metrics/regression/regression_metric.h"

namespace devsan::metrics {

class CoMomentMetric : public RegressionMetric {
public:
  // preds, target  real tensors of one shape, [N], or [N, num_outputs]; [N, 1] is fine for one
  // output. N may be 0.
  //                Dtypes may differ. NaN and infinity propagate to the results of their output.
  void update(const at::Tensor &preds, const at::Tensor &target) override {
    update_with(preds, target, {});
  }

protected:
  // What the first variable, x, is; the second, y, is the target.
  enum class X { kPreds, kResidual /* preds - target */ };

  CoMomentMetric(int64_t num_outputs, at::ScalarType dtype,
                 std::optional<Accumulation> accumulation, X x = X::kPreds);

  // `weight` [N], or undefined: 1 each. Weighted samples need two states, which metrics of the
  // residual have in place of the joint moment.
  void update_with(const at::Tensor &preds, const at::Tensor &target, const at::Tensor &weight);

  // All [num_outputs], in the base dtype of the accumulation format; the number of samples and
  // their weight are [1]. c_xy of X::kPreds only.
  struct Moments {
    at::Tensor count, weight, mean_x, mean_y, mean_difference, m2_x, m2_y, c_xy;
    // Where a second moment is no larger than what rounding alone leaves of a constant.
    at::Tensor constant_x, constant_y;
  };
  Moments moments() const;

  std::string state_signature() const final;
  std::vector<at::Tensor> merged(const std::vector<at::Tensor> &a,
                                 const std::vector<at::Tensor> &b) const override;

private:
  bool update_fused(const at::Tensor &preds, const at::Tensor &target);

  X x_;
};

} // namespace devsan::metrics
