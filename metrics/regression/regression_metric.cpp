#include "metrics/regression/regression_metric.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

RegressionMetric::RegressionMetric(std::vector<StateSpec> specs, int64_t num_outputs,
                                   at::ScalarType dtype, std::optional<Accumulation> accumulation)
    : SupervisedMetric(std::move(specs), accumulation), num_outputs_(num_outputs), dtype_(dtype) {}

void RegressionMetric::check_pairs(const at::Tensor &preds, const at::Tensor &target) const {
  check_inputs({{"preds", preds}, {"target", target}});
  for (const auto &[input_name, input] : {std::pair("preds", preds), std::pair("target", target)})
    TORCH_CHECK(!input.is_complex() && input.scalar_type() != at::kBool, name(), ": `", input_name,
                "` has dtype ", input.scalar_type(), "; pass real numbers");
  TORCH_CHECK(
      preds.sizes() == target.sizes(), name(),
      ": Predictions and targets are expected to have the same shape, but `preds` has shape ",
      preds.sizes(), " and `target` ", target.sizes());
}

void RegressionMetric::check_columns(const at::Tensor &preds, const at::Tensor &target) const {
  check_pairs(preds, target);
  TORCH_CHECK(preds.dim() <= 2, name(), ": Expected ", of_columns(),
              ", but received tensors with dimension ", preds.sizes());
  TORCH_CHECK(num_outputs_ == 1 ? preds.dim() == 1 || (preds.dim() == 2 && preds.size(1) == 1)
                                : preds.dim() == 2 && preds.size(1) == num_outputs_,
              name(),
              ": Expected argument `num_outputs` to match the second dimension of input: `preds` "
              "has shape ",
              preds.sizes(), ", but num_outputs is ", num_outputs_, "; pass [N",
              num_outputs_ == 1 ? "" : ", ", num_outputs_ == 1 ? "" : std::to_string(num_outputs_),
              "]");
}

at::Tensor RegressionMetric::shaped_result(const at::Tensor &value) const {
  return Metric::shaped_result(value, dtype_);
}

std::string RegressionMetric::signature() const {
  return c10::str("num_outputs=", num_outputs_, ", accumulation=", accumulation_name());
}

int64_t checked_num_outputs(const char *metric, int64_t num_outputs) {
  TORCH_CHECK(num_outputs >= 1, metric, ": num_outputs is ", num_outputs, "; pass at least 1");
  return num_outputs;
}

} // namespace devsan::metrics
