#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct WeightedMeanAbsolutePercentageErrorOptions {
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
};

// Sum of |preds - target| over all samples / max(sum of |target|, 1.17e-6).
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute(); 0 where there were no samples, as in TorchMetrics.
class WeightedMeanAbsolutePercentageError : public SampleSums {
public:
  explicit WeightedMeanAbsolutePercentageError(
      const WeightedMeanAbsolutePercentageErrorOptions &options = {});
  DEVSAN_METRIC(WeightedMeanAbsolutePercentageError)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
  at::Tensor value() const override;
};

// The functional form.
at::Tensor weighted_mean_absolute_percentage_error(
    const at::Tensor &preds, const at::Tensor &target,
    const WeightedMeanAbsolutePercentageErrorOptions &options = {}, const at::Tensor &weight = {});

} // namespace devsan::metrics
