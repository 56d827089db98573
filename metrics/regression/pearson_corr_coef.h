#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/comoments.h"

namespace devsan::metrics {

struct PearsonCorrCoefOptions {
  PearsonCorrCoefOptions(int64_t num_outputs = 1) : num_outputs_(num_outputs) {}
  // Columns of the inputs, each correlated on its own.
  TORCH_ARG(int64_t, num_outputs);
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
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

// The functional form.
at::Tensor pearson_corrcoef(const at::Tensor &preds, const at::Tensor &target,
                            const PearsonCorrCoefOptions &options = {});

} // namespace devsan::metrics
