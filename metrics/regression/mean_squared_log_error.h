#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct MeanSquaredLogErrorOptions : ResultOptionsOf<MeanSquaredLogErrorOptions> {
  // When samples outside the domain are noticed.
  TORCH_ARG(Validate, validate) = Validate::kAuto;
};

// Mean of (log(1 + preds) - log(1 + target))^2, for values above -1.
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class MeanSquaredLogError : public SampleSums {
public:
  explicit MeanSquaredLogError(const MeanSquaredLogErrorOptions &options = {});
  DEVSAN_METRIC(MeanSquaredLogError)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
  at::Tensor outside_domain(const at::Tensor &preds, const at::Tensor &target) const override;
};

DEVSAN_WEIGHTED_FUNCTION(MeanSquaredLogError, mean_squared_log_error)

} // namespace devsan::metrics
