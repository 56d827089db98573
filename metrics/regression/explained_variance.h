#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/residual_moments.h"

namespace devsan::metrics {

struct ExplainedVarianceOptions {
  ExplainedVarianceOptions(int64_t num_outputs = 1) : num_outputs_(num_outputs) {}
  // Columns of the inputs.
  TORCH_ARG(int64_t, num_outputs);
  TORCH_ARG(Multioutput, multioutput) = Multioutput::kUniformAverage;
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
};

// Share of the targets' variance that the predictions explain, 1 - var(x - y) / var(y): R^2 of
// predictions whose mean error is forgiven.
//
// update()   see CoMomentMetric::update().
// compute()  [], or [num_outputs] for Multioutput::kRawValues and several outputs, of the option's
//            dtype. A target that is constant up to rounding scores 1 where the error is constant,
//            too, and 0 otherwise.
class ExplainedVariance : public ResidualMomentMetric {
public:
  explicit ExplainedVariance(const ExplainedVarianceOptions &options = {});
  DEVSAN_METRIC(ExplainedVariance)
  at::Tensor compute() const override;
};

// The functional form.
at::Tensor explained_variance(const at::Tensor &preds, const at::Tensor &target,
                              const ExplainedVarianceOptions &options = {},
                              const at::Tensor &weight = {});

} // namespace devsan::metrics
