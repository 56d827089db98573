#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct MeanAbsolutePercentageErrorOptions {
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
};

// Mean of |preds - target| / max(|target|, 1.17e-6); 1 is 100 %. The bound is TorchMetrics';
// scikit-learn's is 2.2e-16, so that only targets of less differ.
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class MeanAbsolutePercentageError : public SampleSums {
public:
  explicit MeanAbsolutePercentageError(const MeanAbsolutePercentageErrorOptions &options = {});
  DEVSAN_METRIC(MeanAbsolutePercentageError)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
};

// The functional form.
at::Tensor mean_absolute_percentage_error(const at::Tensor &preds, const at::Tensor &target,
                                          const MeanAbsolutePercentageErrorOptions &options = {},
                                          const at::Tensor &weight = {});

} // namespace devsan::metrics
