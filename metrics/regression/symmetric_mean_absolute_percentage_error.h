#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct SymmetricMeanAbsolutePercentageErrorOptions {
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
};

// Mean of 2 |preds - target| / max(|preds| + |target|, 1.17e-6), in [0, 2].
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class SymmetricMeanAbsolutePercentageError : public SampleSums {
public:
  explicit SymmetricMeanAbsolutePercentageError(
      const SymmetricMeanAbsolutePercentageErrorOptions &options = {});
  DEVSAN_METRIC(SymmetricMeanAbsolutePercentageError)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
};

// The functional form.
at::Tensor symmetric_mean_absolute_percentage_error(
    const at::Tensor &preds, const at::Tensor &target,
    const SymmetricMeanAbsolutePercentageErrorOptions &options = {}, const at::Tensor &weight = {});

} // namespace devsan::metrics
