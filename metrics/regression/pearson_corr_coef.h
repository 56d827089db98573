#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/comoments.h"

namespace devsan::metrics {

struct PearsonCorrCoefOptions : OutputOptionsOf<PearsonCorrCoefOptions> {
  using OutputOptionsOf::OutputOptionsOf;
};

// Pearson's correlation coefficient of predictions and targets,
//   r = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 * sum (y - mean y)^2).
//
// update()   see CoMomentMetric::update().
// compute()  [] for one output, [num_outputs] otherwise, of the option's dtype, in [-1, 1]. NaN
// where it is not defined:
//            fewer than two samples, or an input that is constant (up to rounding), as in
//            scipy.stats.pearsonr.
class PearsonCorrCoef : public CoMomentMetric {
public:
  explicit PearsonCorrCoef(const PearsonCorrCoefOptions &options = {});
  DEVSAN_METRIC(PearsonCorrCoef)
  at::Tensor compute() const override;
};

DEVSAN_FUNCTION(PearsonCorrCoef, pearson_corrcoef)

} // namespace devsan::metrics
