#include "metrics/regression/comoments.h"

#include <limits>

#include <ATen/ATen.h>

#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

using detail::Wide;

enum StateIndex { kCount, kMeanX, kMeanY, kM2X, kM2Y, kCXY };

// The moments of one batch of at least one sample.
std::vector<at::Tensor> batch_states(const at::Tensor &preds, const at::Tensor &target,
                                     int64_t num_outputs, Accumulation format) {
  const at::ScalarType base = detail::base_dtype(format);
  const auto count = static_cast<double>(preds.size(0));
  const auto centred = [&](const at::Tensor &input) {
    const at::Tensor x = input.reshape({-1, num_outputs}).to(base);
    const at::Tensor mean = x.sum(0) / count;
    const at::Tensor deviation = x - mean;
    return std::tuple(mean, deviation, deviation.sum(0) / count);
  };
  const auto [mean_x, dx, residue_x] = centred(preds);
  const auto [mean_y, dy, residue_y] = centred(target);
  const auto moment = [&](const at::Tensor &sum, const at::Tensor &correction) {
    return Wide::from(sum - correction * count, format).to_state();
  };
  return {at::full({1}, preds.size(0), preds.options().dtype(at::kLong)),
          Wide::from_sum(mean_x, residue_x, format).to_state(),
          Wide::from_sum(mean_y, residue_y, format).to_state(),
          moment(dx.square().sum(0), residue_x.square()),
          moment(dy.square().sum(0), residue_y.square()),
          moment((dx * dy).sum(0), residue_x * residue_y)};
}

} // namespace

CoMomentMetric::CoMomentMetric(int64_t num_outputs, at::ScalarType dtype,
                               std::optional<Accumulation> accumulation)
    : RegressionMetric({{"count", {1}, StateSpec::Kind::kCount},
                        {"mean_x", {num_outputs}, StateSpec::Kind::kMoment},
                        {"mean_y", {num_outputs}, StateSpec::Kind::kMoment},
                        {"m2_x", {num_outputs}, StateSpec::Kind::kMoment},
                        {"m2_y", {num_outputs}, StateSpec::Kind::kMoment},
                        {"c_xy", {num_outputs}, StateSpec::Kind::kMoment}},
                       num_outputs, dtype, accumulation) {}

void CoMomentMetric::fold(const at::Tensor &x, const at::Tensor &y) {
  const std::vector<at::Tensor> states = states_on(x.device());
  const Accumulation format = accumulation_on(x.device());
  const bool empty = x.size(0) == 0;
  set_states(empty ? states : merged(states, batch_states(x, y, num_outputs(), format)));
}

void CoMomentMetric::update(const at::Tensor &preds, const at::Tensor &target) {
  check_columns(preds, target);
  const StateScope scope;
  fold(preds, target);
}

std::vector<at::Tensor> CoMomentMetric::merged(const std::vector<at::Tensor> &a,
                                               const std::vector<at::Tensor> &b) const {
  const Accumulation format =
      a[kMeanX].scalar_type() == at::kDouble ? Accumulation::kDouble : Accumulation::kFloatPair;
  const at::Tensor count = a[kCount] + b[kCount];
  // Two empty sides keep their zeros: 0 / 1 rather than 0 / 0.
  const Wide share_b = Wide::from(b[kCount], format) / Wide::from(count.clamp_min(1), format);
  const Wide weight = Wide::from(a[kCount], format) * share_b;

  const Wide mean_x = Wide::from_state(a[kMeanX]);
  const Wide mean_y = Wide::from_state(a[kMeanY]);
  const Wide delta_x = Wide::from_state(b[kMeanX]) - mean_x;
  const Wide delta_y = Wide::from_state(b[kMeanY]) - mean_y;
  const auto combined = [&](StateIndex index, const Wide &between) {
    return (Wide::from_state(a[index]) + Wide::from_state(b[index]) + between * weight).to_state();
  };
  return {count,
          (mean_x + delta_x * share_b).to_state(),
          (mean_y + delta_y * share_b).to_state(),
          combined(kM2X, delta_x * delta_x),
          combined(kM2Y, delta_y * delta_y),
          combined(kCXY, delta_x * delta_y)};
}

CoMomentMetric::Moments CoMomentMetric::moments() const {
  const std::vector<at::Tensor> &states = computable_states();
  const Wide mean_x = Wide::from_state(states[kMeanX]);
  const Wide mean_y = Wide::from_state(states[kMeanY]);
  Moments moments;
  moments.mean_x = mean_x.rounded();
  moments.mean_y = mean_y.rounded();
  moments.mean_difference = (mean_x - mean_y).rounded();
  moments.count = states[kCount].to(moments.mean_x.scalar_type());
  moments.m2_x = Wide::from_state(states[kM2X]).rounded();
  moments.m2_y = Wide::from_state(states[kM2Y]).rounded();
  moments.c_xy = Wide::from_state(states[kCXY]).rounded();

  // A constant leaves a deviation of a few ulps of the mean in float64. In float32 the deviation
  // itself is exact and only its sum is rounded, which leaves far less; there one ulp is real
  // information.
  const double ulps = states[kMeanX].scalar_type() == at::kDouble
                          ? 4 * std::numeric_limits<double>::epsilon()
                          : 0.01 * static_cast<double>(std::numeric_limits<float>::epsilon());
  moments.constant_x = moments.m2_x <= (moments.mean_x * ulps).square() * moments.count;
  moments.constant_y = moments.m2_y <= (moments.mean_y * ulps).square() * moments.count;
  return moments;
}

} // namespace devsan::metrics
