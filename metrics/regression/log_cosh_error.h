#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct LogCoshErrorOptions {
  LogCoshErrorOptions(int64_t num_outputs = 1) : num_outputs_(num_outputs) {}
  // Columns of the inputs, each judged on its own; 1 takes inputs of any shape as one.
  TORCH_ARG(int64_t, num_outputs);
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
};

// Mean of log(cosh(preds - target)): half the squared error where it is small, the absolute error
// less log 2 where it is large. Written so that it does not overflow, however large the error is.
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class LogCoshError : public SampleSums {
public:
  explicit LogCoshError(const LogCoshErrorOptions &options = {});
  DEVSAN_METRIC(LogCoshError)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
};

// The functional form.
at::Tensor log_cosh_error(const at::Tensor &preds, const at::Tensor &target,
                          const LogCoshErrorOptions &options = {}, const at::Tensor &weight = {});

} // namespace devsan::metrics
