// Metrics of how much of the targets' variance the predictions explain: the joint moments of the
// residual preds - target and of the target, so that the unexplained part is a sum of squares of
// its own and not a difference of large moments.
#pragma once

#include "metrics/regression/comoments.h"
#include "metrics/weighted_metric.h"

namespace devsan::metrics {

// How the scores of the outputs become the result.
enum class Multioutput {
  kRawValues,        // not at all: [num_outputs]
  kUniformAverage,   // their mean
  kVarianceWeighted, // their mean weighted by the variances of the targets; plain where all are 0
};

class ResidualMomentMetric : public CoMomentMetric, public WeightedMetric {
public:
  using CoMomentMetric::update;
  // weight  [N]; see CoMomentMetric::update() for the others. Means and variances are weighted
  //         ones.
  void update(const at::Tensor &preds, const at::Tensor &target, const at::Tensor &weight) final {
    update_with(preds, target, weight);
  }

protected:
  ResidualMomentMetric(int64_t num_outputs, Multioutput multioutput, at::ScalarType dtype,
                       std::optional<Accumulation> accumulation);

  // 1 - unexplained / m2_y. Where the target is constant (up to rounding): 1 where `perfect`, else
  // 0, as in scikit-learn.
  static at::Tensor scores(const Moments &moments, const at::Tensor &unexplained,
                           const at::Tensor &perfect);

  // The scores' average, or themselves, in the result's shape and dtype.
  at::Tensor averaged(const Moments &moments, const at::Tensor &scores) const;

  std::string signature() const override;
  const char *of_columns() const override {
    return "both prediction and target to be 1D or 2D tensors";
  }

private:
  Multioutput multioutput_;
};

} // namespace devsan::metrics
