#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct MeanSquaredErrorOptions {
  MeanSquaredErrorOptions(int64_t num_outputs = 1) : num_outputs_(num_outputs) {}
  // Columns of the inputs, each judged on its own; 1 takes inputs of any shape as one.
  TORCH_ARG(int64_t, num_outputs);
  // Whether the result is the mean itself or its root, the RMSE.
  TORCH_ARG(bool, squared) = true;
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
};

// Mean of (preds - target)^2, or its root.
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class MeanSquaredError : public SampleSums {
public:
  explicit MeanSquaredError(const MeanSquaredErrorOptions &options = {});
  DEVSAN_METRIC(MeanSquaredError)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
  at::Tensor value() const override;
  std::string signature() const override;
  std::string state_signature() const override {
    return c10::str("squared errors, adding=", static_cast<int>(adding()), ", ",
                    SampleSums::signature());
  }

private:
  bool squared_;
};

// The functional form.
at::Tensor mean_squared_error(const at::Tensor &preds, const at::Tensor &target,
                              const MeanSquaredErrorOptions &options = {},
                              const at::Tensor &weight = {});

} // namespace devsan::metrics
