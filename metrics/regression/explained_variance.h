#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/residual_moments.h"

namespace devsan::metrics {

struct ExplainedVarianceOptions : OutputOptionsOf<ExplainedVarianceOptions> {
  using OutputOptionsOf::OutputOptionsOf;
  TORCH_ARG(Multioutput, multioutput) = Multioutput::kUniformAverage;
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

DEVSAN_WEIGHTED_FUNCTION(ExplainedVariance, explained_variance)

} // namespace devsan::metrics
