#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/residual_moments.h"

namespace devsan::metrics {

struct R2ScoreOptions : OutputOptionsOf<R2ScoreOptions> {
  using OutputOptionsOf::OutputOptionsOf;
  // The number of regressors that the score is corrected for; 0 for the plain score.
  TORCH_ARG(int64_t, adjusted) = 0;
  TORCH_ARG(Multioutput, multioutput) = Multioutput::kUniformAverage;
};

// Coefficient of determination, R^2 = 1 - sum (x - y)^2 / sum (y - mean y)^2 of predictions x and
// targets y; adjusted for k regressors, 1 - (1 - R^2) (N - 1) / (N - k - 1).
//
// update()   see CoMomentMetric::update().
// compute()  [], or [num_outputs] for Multioutput::kRawValues and several outputs, of the option's
//            dtype. A target that is constant up to rounding scores 1 where the predictions equal
//            it and 0 otherwise. NaN for fewer than two samples, or weights of sum 0. The score is
//            not adjusted where there are fewer than k + 2 samples.
//
// TorchMetrics takes any target whose sum of squares is below 1e-4 for constant, and is an error
// for fewer than two samples.
class R2Score : public ResidualMomentMetric {
public:
  explicit R2Score(const R2ScoreOptions &options = {});
  DEVSAN_METRIC(R2Score)
  at::Tensor compute() const override;

protected:
  std::string signature() const override;

private:
  int64_t adjusted_;
};

DEVSAN_WEIGHTED_FUNCTION(R2Score, r2_score)

} // namespace devsan::metrics
