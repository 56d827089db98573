#include "metrics/regression/tweedie_deviance_score.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/lane_math.h"
#include "metrics/detail/text.h"

namespace devsan::metrics {
namespace {

double checked_power(double power) {
  TORCH_CHECK(!(power > 0 && power < 1) && std::isfinite(power),
              "TweedieDevianceScore: Deviance Score is not defined for power=", power,
              ", for which there is no Tweedie distribution; pass 0 or less, or 1 or more");
  return power;
}

std::string domain(double power) {
  return c10::str("For power=", power, ", ",
                  power < 0    ? "'preds' has to be strictly positive."
                  : power >= 2 ? "both 'preds' and 'targets' have to be strictly positive."
                               : "'preds' has to be strictly positive and 'targets' cannot be "
                                 "negative.");
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

std::optional<std::vector<double>> TweedieDevianceScore::fused(const at::Tensor &preds,
                                                               const at::Tensor &target) const {
  using detail::Lanes;
  using Sums = detail::LaneSums<1>;
  if (power_ == 0)
    return detail::fused_sum_list<1>(preds, target, [](const Lanes &x, const Lanes &y, Sums &sums) {
      const Lanes d = x - y;
      sums[0] += d * d;
    });
  if (power_ == 1)
    return detail::finite(
        detail::fused_sum_list<1>(preds, target, [](const Lanes &x, const Lanes &y, Sums &sums) {
          // Without samples outside the domain, of which some have no logarithm in them.
          const Lanes none = where_less(y, 0, NAN, where_less(0, x, 0, NAN));
          const Lanes product = y * detail::log_of_ratio(y, x, y - x);
          sums[0] += 2 * (where_less(0, y, product, none) - y + x);
        }));
  if (power_ == 2)
    return detail::finite(
        detail::fused_sum_list<1>(preds, target, [](const Lanes &x, const Lanes &y, Sums &sums) {
          sums[0] += 2 * (detail::log_of_ratio(x, y, x - y) + (y - x) / x);
        }));
  return std::nullopt;
}

at::Tensor TweedieDevianceScore::outside_domain(const at::Tensor &preds,
                                                const at::Tensor &target) const {
  at::Tensor outside = preds.le(0);
  if (power_ < 0)
    return outside;
  return outside.bitwise_or(power_ >= 2 ? target.le(0) : target.lt(0));
}

std::string TweedieDevianceScore::signature() const {
  return SampleSums::signature() + ", power=" + detail::exact_text(power_);
}

} // namespace devsan::metrics
