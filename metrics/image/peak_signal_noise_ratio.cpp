#include "metrics/image/peak_signal_noise_ratio.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/detail/fused.h"
#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

using detail::Lanes;
using detail::LaneSums;
using detail::Wide;

enum StateIndex { kTotal, kSum };

bool keeps_all(const PeakSignalNoiseRatioOptions &options) {
  return options.dim() && options.reduction() == ImageReduction::kNone;
}

Accumulation format_of(const at::Tensor &state) {
  return state.scalar_type() == at::kDouble ? Accumulation::kDouble : Accumulation::kFloatPair;
}

} // namespace

PeakSignalNoiseRatio::PeakSignalNoiseRatio(const PeakSignalNoiseRatioOptions &options)
    : SupervisedMetric(
          keeps_all(options)
              ? std::vector<StateSpec>{{"ratios", {}, StateSpec::Kind::kList}}
              : std::vector<StateSpec>{{"total", {1}, StateSpec::Kind::kCount},
                                       {options.dim() ? "sum_of_ratios" : "sum_squared_error",
                                        {1},
                                        StateSpec::Kind::kMoment}},
          options.accumulation()),
      options_(options) {
  options_.data_range().check("PeakSignalNoiseRatio");
  if (!options_.dim() && options_.reduction() != ImageReduction::kElementwiseMean)
    TORCH_WARN("PeakSignalNoiseRatio: The `reduction=",
               options_.reduction() == ImageReduction::kSum ? "sum" : "none",
               "` will not have any effect when `dim` is None.");
  TORCH_CHECK(options_.base() > 0 && options_.base() != 1 && std::isfinite(options_.base()),
              "PeakSignalNoiseRatio: base is ", options_.base(),
              "; pass a finite number above 0 that is not 1");
}

at::Tensor PeakSignalNoiseRatio::squared_errors(const at::Tensor &preds,
                                                const at::Tensor &target) const {
  const at::ScalarType base = detail::base_dtype(accumulation_on(preds.device()));
  const DataRange &range = options_.data_range();
  const auto values = [&](const at::Tensor &x) {
    const at::Tensor wide = x.to(base);
    return range.clamps() ? wide.clamp(range.low(), range.high()) : wide;
  };
  return (values(preds) - values(target)).square();
}

at::Tensor PeakSignalNoiseRatio::ratio(const at::Tensor &mean_squared_error) const {
  const double scale = 10 / std::log(options_.base());
  return 2 * scale * std::log(options_.data_range().width()) - mean_squared_error.log() * scale;
}

void PeakSignalNoiseRatio::update(const at::Tensor &preds, const at::Tensor &target) {
  check_inputs({{"preds", preds}, {"target", target}});
  for (const auto &[input_name, input] : {std::pair("preds", preds), std::pair("target", target)})
    TORCH_CHECK(!input.is_complex() && input.scalar_type() != at::kBool, name(), ": `", input_name,
                "` has dtype ", input.scalar_type(), "; pass real numbers");
  TORCH_CHECK(
      preds.sizes() == target.sizes(), name(),
      ": Predictions and targets are expected to have the same shape, but `preds` has shape ",
      preds.sizes(), " and `target` ", target.sizes());
  if (options_.dim()) {
    std::vector<bool> taken(preds.dim());
    for (const int64_t dim : *options_.dim()) {
      TORCH_CHECK(dim >= -preds.dim() && dim < preds.dim(), name(), ": dim holds ", dim,
                  ", but `preds` has shape ", preds.sizes());
      const int64_t from_first = dim < 0 ? dim + preds.dim() : dim;
      TORCH_CHECK(!taken[from_first], name(), ": dim holds ", dim, ", dimension ", from_first,
                  " of `preds` of shape ", preds.sizes(), ", twice; pass each once");
      taken[from_first] = true;
    }
  }
  const StateScope scope;
  if (preds.numel() == 0) { // nothing has no ratio, nor an error
    set_states(states_on(preds.device()));
    return;
  }

  if (options_.dim()) {
    const at::Tensor ratios =
        ratio(squared_errors(preds, target).mean(*options_.dim())).reshape(-1);
    if (keeps_all(options_)) {
      append({ratios});
      return;
    }
    std::vector<at::Tensor> states = states_on(preds.device());
    states[kTotal] = states[kTotal] + ratios.numel();
    const Wide sum = Wide::from(ratios.sum(0, /*keepdim=*/true), format_of(states[kSum]));
    states[kSum] = (Wide::from_state(states[kSum]) + sum).to_state();
    set_states(std::move(states));
    return;
  }

  std::vector<at::Tensor> states = states_on(preds.device());
  std::optional<detail::Sums<1>> sums;
  if (preds.is_cpu() && format_of(states[kSum]) == Accumulation::kDouble) {
    const double low = options_.data_range().low(), high = options_.data_range().high();
    const detail::Adding adding = detail::adding_for(options_.dtype());
    sums = options_.data_range().clamps()
               ? detail::fused_sums<1>(preds, target, adding,
                                       [=](const auto &x, const auto &y, auto &sums) {
                                         const auto d = at_most(at_least(x, low), high) -
                                                        at_most(at_least(y, low), high);
                                         sums[0] += d * d;
                                       })
               : detail::fused_sums<1>(preds, target, adding,
                                       [](const auto &x, const auto &y, auto &sums) {
                                         const auto d = x - y;
                                         sums[0] += d * d;
                                       });
  }
  if (sums) {
    add_number(states[kTotal], preds.numel());
    add_number(states[kSum], (*sums)[0]);
  } else {
    states[kTotal] = states[kTotal] + preds.numel();
    const Wide sum = Wide::from(squared_errors(preds, target).sum(), format_of(states[kSum]));
    states[kSum] = (Wide::from_state(states[kSum]) + sum).to_state();
  }
  set_states(std::move(states));
}

at::Tensor PeakSignalNoiseRatio::compute() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  if (keeps_all(options_))
    return states[0].to(options_.dtype());
  const Wide sum = Wide::from_state(states[kSum]);
  if (options_.dim() && options_.reduction() == ImageReduction::kSum)
    return shaped_result(sum.rounded(), options_.dtype());
  const at::Tensor mean = (sum / Wide::from(states[kTotal], format_of(states[kSum]))).rounded();
  return shaped_result(options_.dim() ? mean : ratio(mean), options_.dtype());
}

std::string PeakSignalNoiseRatio::signature() const {
  std::string dim = "none";
  if (options_.dim())
    dim = c10::str(at::IntArrayRef(*options_.dim()));
  return c10::str("data_range=", options_.data_range().text(),
                  ", base=", detail::exact_text(options_.base()),
                  ", reduction=", static_cast<int>(options_.reduction()), ", dim=", dim,
                  ", accumulation=", accumulation_name());
}

at::Tensor peak_signal_noise_ratio(const at::Tensor &preds, const at::Tensor &target,
                                   const PeakSignalNoiseRatioOptions &options) {
  return detail::evaluate<PeakSignalNoiseRatio>(options, preds, target);
}

} // namespace devsan::metrics
