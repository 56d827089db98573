#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/residual_moments.h"

namespace devsan::metrics {

struct R2ScoreOptions {
  R2ScoreOptions(int64_t num_outputs = 1) : num_outputs_(num_outputs) {}
  // Columns of the inputs.
  TORCH_ARG(int64_t, num_outputs);
  // The number of regressors that the score is corrected for; 0 for the plain score.
  TORCH_ARG(int64_t, adjusted) = 0;
  TORCH_ARG(Multioutput, multioutput) = Multioutput::kUniformAverage;
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
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

// The functional form.
at::Tensor r2_score(const at::Tensor &preds, const at::Tensor &target,
                    const R2ScoreOptions &options = {}, const at::Tensor &weight = {});

} // namespace devsan::metrics
