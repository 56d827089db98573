#include "metrics/regression/regression_metric.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

RegressionMetric::RegressionMetric(std::vector<StateSpec> specs, int64_t num_outputs,
                                   at::ScalarType dtype, std::optional<Accumulation> accumulation)
    : SupervisedMetric(std::move(specs), accumulation), num_outputs_(num_outputs), dtype_(dtype),
      accumulation_(accumulation) {}

void RegressionMetric::check_pairs(const at::Tensor &preds, const at::Tensor &target) const {
  check_inputs({{"preds", preds}, {"target", target}});
  for (const auto &[input_name, input] : {std::pair("preds", preds), std::pair("target", target)})
    TORCH_CHECK(!input.is_complex() && input.scalar_type() != at::kBool, name(), ": `", input_name,
                "` has dtype ", input.scalar_type(), "; pass real numbers");
  TORCH_CHECK(preds.sizes() == target.sizes(), name(), ": `preds` has shape ", preds.sizes(),
              " but `target` ", target.sizes(), "; pass the same shape");
}

at::Tensor RegressionMetric::shaped_result(const at::Tensor &result) const {
  const bool too_wide =
      dtype_ == at::kDouble && default_accumulation(result.device()) != Accumulation::kDouble;
  TORCH_CHECK(!too_wide, name(), ": results of dtype ", dtype_, " do not exist on ",
              result.device(), "; leave the option `dtype` at float32");
  return (result.size(0) == 1 ? result.squeeze(0) : result).to(dtype_);
}

std::string RegressionMetric::signature() const {
  const char *format = !accumulation_                            ? "default"
                       : *accumulation_ == Accumulation::kDouble ? "double"
                                                                 : "float pair";
  return c10::str("num_outputs=", num_outputs_, ", accumulation=", format);
}

int64_t checked_num_outputs(const char *metric, int64_t num_outputs) {
  TORCH_CHECK(num_outputs >= 1, metric, ": num_outputs is ", num_outputs, "; pass at least 1");
  return num_outputs;
}

} // namespace devsan::metrics
