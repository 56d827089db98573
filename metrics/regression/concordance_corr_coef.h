#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/comoments.h"

namespace devsan::metrics {

struct ConcordanceCorrCoefOptions : OutputOptionsOf<ConcordanceCorrCoefOptions> {
  using OutputOptionsOf::OutputOptionsOf;
  // Whether variances and covariance are divided by N - 1, as TorchMetrics does, or by N, as in the
  // original paper.
  TORCH_ARG(bool, unbiased) = true;
};

// Lin's concordance correlation coefficient (Lin 1989, Biometrics 45:255),
//   2 cov(x, y) / (var x + var y + (mean x - mean y)^2):
// how far predictions lie from the line x = y, 1 for perfect agreement.
//
// update()   see CoMomentMetric::update().
// compute()  [] for one output, [num_outputs] otherwise, of the option's dtype, in [-1, 1]. 0 where
// one input is constant; NaN
//            for fewer than two samples (unbiased), and where both inputs are the same constant.
class ConcordanceCorrCoef : public CoMomentMetric {
public:
  explicit ConcordanceCorrCoef(const ConcordanceCorrCoefOptions &options = {});
  DEVSAN_METRIC(ConcordanceCorrCoef)
  at::Tensor compute() const override;

protected:
  std::string signature() const override;

private:
  bool unbiased_;
};

DEVSAN_FUNCTION(ConcordanceCorrCoef, concordance_corrcoef)

} // namespace devsan::metrics
