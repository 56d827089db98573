#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct TweedieDevianceScoreOptions : ResultOptionsOf<TweedieDevianceScoreOptions> {
  TweedieDevianceScoreOptions(double power = 0) : power_(power) {}
  // Of the variance as a function of the mean: 0 normal, 1 Poisson, 2 gamma, 3 inverse Gaussian
  // distribution. Not in (0, 1), where there is no such distribution.
  TORCH_ARG(double, power);
  // When samples outside the domain are noticed.
  TORCH_ARG(Validate, validate) = Validate::kAuto;
};

// Mean deviance of a Tweedie distribution of power p (as in scikit-learn's mean_tweedie_deviance):
//   p = 0  (y - x)^2                              any x, y
//   p = 1  2 (y log(y / x) - y + x)               x > 0, y >= 0
//   p = 2  2 (log(x / y) + y / x - 1)             x > 0, y > 0
//   else   2 (max(y, 0)^(2-p) / ((1-p) (2-p)) - y x^(1-p) / (1-p) + x^(2-p) / (2-p))
//          x > 0, and y >= 0 for p in (1, 2), y > 0 for p > 2
// of predictions x and targets y.
//
// update()   per element, see SampleSums::update().
// compute()  see SampleSums::compute().
class TweedieDevianceScore : public SampleSums {
public:
  explicit TweedieDevianceScore(const TweedieDevianceScoreOptions &options = {});
  DEVSAN_METRIC(TweedieDevianceScore)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
  at::Tensor outside_domain(const at::Tensor &preds, const at::Tensor &target) const override;
  std::string signature() const override;

private:
  double power_;
};

DEVSAN_WEIGHTED_FUNCTION(TweedieDevianceScore, tweedie_deviance_score)

} // namespace devsan::metrics
