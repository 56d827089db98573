#include "metrics/regression/tweedie_deviance_score.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"

namespace devsan::metrics {
namespace {

double checked_power(double power) {
  TORCH_CHECK(!(power > 0 && power < 1) && std::isfinite(power), "TweedieDevianceScore: power is ",
              power, ", for which there is no Tweedie distribution; pass 0 or less, or 1 or more");
  return power;
}

std::string domain(double power) {
  return power < 0    ? "preds > 0"
         : power >= 2 ? "preds > 0 and target > 0"
                      : "preds > 0 and target >= 0";
}

} // namespace

TweedieDevianceScore::TweedieDevianceScore(const TweedieDevianceScoreOptions &options)
    : SampleSums(
          {.sums = {"sum_deviance_score"},
           .dtype = options.dtype(),
           .accumulation = options.accumulation(),
           .domain = checked_power(options.power()) == 0
                         ? std::nullopt
                         : std::optional(Domain{domain(options.power()), options.validate()})}),
      power_(options.power()) {}

std::vector<at::Tensor> TweedieDevianceScore::terms(const at::Tensor &preds,
                                                    const at::Tensor &target) const {
  const at::Tensor &x = preds, &y = target;
  if (power_ == 0)
    return {(y - x).square()};
  if (power_ == 1)
    return {2 * (at::xlogy(y, y / x) - y + x)};
  if (power_ == 2)
    return {2 * ((x / y).log() + y / x - 1)};
  const double a = 1 - power_, b = 2 - power_;
  return {2 * (y.clamp_min(0).pow(b) / (a * b) - y * x.pow(a) / a + x.pow(b) / b)};
}

at::Tensor TweedieDevianceScore::outside_domain(const at::Tensor &preds,
                                                const at::Tensor &target) const {
  const at::Tensor outside = preds.le(0);
  if (power_ < 0)
    return outside;
  return outside.bitwise_or(power_ >= 2 ? target.le(0) : target.lt(0));
}

std::string TweedieDevianceScore::signature() const {
  return SampleSums::signature() + c10::str(", power=", power_);
}

at::Tensor tweedie_deviance_score(const at::Tensor &preds, const at::Tensor &target,
                                  const TweedieDevianceScoreOptions &options) {
  return detail::evaluate<TweedieDevianceScore>(options, preds, target);
}

} // namespace devsan::metrics
