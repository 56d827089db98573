#include "metrics/regression/comoments.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

#include "metrics/detail/fused.h"
#include "metrics/detail/wide.h"
#include "metrics/weighted_metric.h"

namespace devsan::metrics {
namespace {

using detail::Lanes;
using detail::Wide;

// Numbers of a widened part on the CPU, see SampleSums.
constexpr int64_t kCacheBlock = 8192;

// Behind the moments of each variable the joint one, or, of metrics of residuals, which need none
// but take weights: how many samples came with one, and their sum.
enum StateIndex { kCount, kMeanX, kMeanY, kM2X, kM2Y, kCXY, kWeighted = kCXY, kWeight };

bool takes_weights(size_t number_of_states) {
  return number_of_states > kWeight;
}

// Of all samples.
Wide weight_of(const std::vector<at::Tensor> &states, Accumulation format) {
  if (!takes_weights(states.size()))
    return Wide::from(states[kCount], format);
  return Wide::from(states[kCount] - states[kWeighted], format) + Wide::from_state(states[kWeight]);
}

// The moments of at least one sample, [N, num_outputs] in the base dtype; their weights [N, 1], or
// undefined. `number` of states.
std::vector<at::Tensor> batch_states(const at::Tensor &first, const at::Tensor &second,
                                     const at::Tensor &weights, Accumulation format,
                                     size_t number) {
  const auto n = static_cast<double>(first.size(0));
  const bool weighted = weights.defined();
  const at::Tensor total = weighted ? weights.sum(0) : at::Tensor();
  const at::Tensor divisor = weighted ? total + total.eq(0) : total; // 0 / 0 is 0
  const auto sum = [&](const at::Tensor &x) { return weighted ? (x * weights).sum(0) : x.sum(0); };
  const auto centred = [&](const at::Tensor &x) {
    const auto mean = [&](const at::Tensor &of) {
      return weighted ? sum(of) / divisor : sum(of) / n;
    };
    const at::Tensor mean_of_x = mean(x);
    const at::Tensor deviation = x - mean_of_x;
    return std::tuple(mean_of_x, deviation, mean(deviation));
  };
  const auto [mean_x, dx, residue_x] = centred(first);
  const auto [mean_y, dy, residue_y] = centred(second);
  const auto moment = [&](const at::Tensor &square, const at::Tensor &correction) {
    return Wide::from(sum(square) - (weighted ? correction * total : correction * n), format)
        .to_state();
  };
  const at::Tensor count = at::full({1}, first.size(0), first.options().dtype(at::kLong));
  std::vector<at::Tensor> states{count, Wide::from_sum(mean_x, residue_x, format).to_state(),
                                 Wide::from_sum(mean_y, residue_y, format).to_state(),
                                 moment(dx.square(), residue_x.square()),
                                 moment(dy.square(), residue_y.square())};
  if (takes_weights(number)) {
    states.push_back(weighted ? count : at::zeros_like(count));
    states.push_back(
        Wide::from(weighted ? total : at::zeros({1}, first.options()), format).to_state());
  } else {
    states.push_back(moment(dx * dy, residue_x * residue_y));
  }
  return states;
}

template <typename T> T number(const at::Tensor &state) {
  return *state.const_data_ptr<T>();
}
// A state of the shape of `like`.
template <typename T> at::Tensor state_of(T value, const at::Tensor &like) {
  at::Tensor state = at::detail::empty_cpu(like.sizes(), like.scalar_type());
  *state.mutable_data_ptr<T>() = value;
  return state;
}

// The moments of one output in host arithmetic; of residuals without the joint one.
struct HostMoments {
  double n = 0, mean_x = 0, mean_y = 0, m2_x = 0, m2_y = 0, c_xy = 0;

  static bool has(const std::vector<at::Tensor> &states) {
    const at::Tensor &mean = states[kMeanX];
    return mean.is_cpu() && mean.numel() == 1 && mean.scalar_type() == at::kDouble;
  }
  static HostMoments of(const std::vector<at::Tensor> &states) {
    const auto of_state = [&](StateIndex index) { return number<double>(states[index]); };
    const bool weights = takes_weights(states.size());
    auto n = static_cast<double>(number<int64_t>(states[kCount]));
    if (weights)
      n += of_state(kWeight) - static_cast<double>(number<int64_t>(states[kWeighted]));
    return {n,
            of_state(kMeanX),
            of_state(kMeanY),
            of_state(kM2X),
            of_state(kM2Y),
            weights ? 0 : of_state(kCXY)};
  }

  void merge(const HostMoments &b) {
    const double share = n + b.n == 0 ? 0 : b.n / (n + b.n), weight = n * share;
    const double delta_x = b.mean_x - mean_x, delta_y = b.mean_y - mean_y;
    n += b.n;
    mean_x += delta_x * share;
    mean_y += delta_y * share;
    m2_x += b.m2_x + delta_x * delta_x * weight;
    m2_y += b.m2_y + delta_y * delta_y * weight;
    c_xy += b.c_xy + delta_x * delta_y * weight;
  }
};

// The first variable, as a function of preds and target.
struct Preds {
  static constexpr bool kJoint = true;
  template <typename L> [[gnu::always_inline]] L operator()(const L &pred, const L &) const {
    return pred;
  }
};
struct Residual {
  static constexpr bool kJoint = false;
  template <typename L> [[gnu::always_inline]] L operator()(const L &pred, const L &target) const {
    return pred - target;
  }
};

// Sums over a block, of deviations from the mean of its first numbers.
struct Centred {
  double centre_x, centre_y;
  detail::Sums<5> sums; // of the deviations, their squares and, if kJoint, their product

  HostMoments moments(int64_t n) const {
    const auto number = static_cast<double>(n);
    const double off_x = sums[0] / number, off_y = sums[1] / number;
    return {number,
            centre_x + off_x,
            centre_y + off_y,
            sums[2] - off_x * sums[0],
            sums[3] - off_y * sums[1],
            sums[4] - off_x * sums[1]};
  }
};

template <typename T, typename X, typename... How>
Centred centred(const T *first, const T *second, int64_t n, const X &x, const How &...how) {
  constexpr int64_t kHead = 64;
  const int64_t head = std::min(kHead, n);
  const detail::Sums<2> sums =
      detail::sums_of<2>(first, second, head, [&](const Lanes &pred, const Lanes &y, auto &to) {
        to[0] += x(pred, y);
        to[1] += y;
      });
  const auto centre_of = [&](double sum) {
    constexpr double kMost = std::numeric_limits<T>::max();
    const double mean = std::clamp(sum / static_cast<double>(head), -kMost, kMost);
    return std::isfinite(sum) ? static_cast<T>(mean) : T{0};
  };
  const T centre_x = centre_of(sums[0]), centre_y = centre_of(sums[1]);
  // Unknown to the compiler, for a sum by the multipliers where residuals keep the adders busy.
  const T one = X::kJoint || head > 0 ? T{1} : T{0};
  const auto sums_of = [&]<size_t K>(std::integral_constant<size_t, K>) {
    return detail::sums_of<K>(
        first, second, n, how..., [=](const auto &pred, const auto &y, auto &to) {
          const auto dx = x(pred, y) - centre_x, dy = y - centre_y;
          to[0] = multiply_add(dx, one, to[0]);
          to[1] += dy;
          to[2] = multiply_add(dx, dx, to[2]); // additions alone would be most of the time
          to[3] = multiply_add(dy, dy, to[3]);
          if constexpr (K == 5)
            to[4] = multiply_add(dx, dy, to[4]);
        });
  };
  if constexpr (X::kJoint) {
    return {centre_x, centre_y, sums_of(std::integral_constant<size_t, 5>())};
  } else {
    const detail::Sums<4> own = sums_of(std::integral_constant<size_t, 4>());
    return {centre_x, centre_y, {own[0], own[1], own[2], own[3], 0}};
  }
}

// In one pass.
template <typename X>
std::optional<HostMoments> batch_moments(const at::Tensor &preds, const at::Tensor &target,
                                         detail::Adding adding) {
  return detail::with_numbers(preds, target, [=](const auto *first, const auto *second, int64_t n) {
    HostMoments all;
    // Where the first numbers are the part p of a block, the square of their mean is off by at most
    // variance / p: of the 53 bits of a moment five may be lost, whatever the values.
    const auto add_wide = [&](int64_t begin, int64_t end) {
      constexpr int64_t kBlock = 2048;
      for (; begin < end; begin += kBlock) {
        const int64_t size = std::min(kBlock, end - begin);
        all.merge(centred(first + begin, second + begin, size, X()).moments(size));
      }
    };
    if (adding == detail::Adding::kWide) {
      add_wide(0, n);
      return all;
    }
    constexpr int64_t kBlock = 32768;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t size = std::min(kBlock, n - begin);
      const Centred block = centred(first + begin, second + begin, size, X(), adding);
      const HostMoments moments = block.moments(size);
      // Of 24 bits there are fewer to lose: three, and of residuals those of their mean.
      const double rounded =
          std::is_same_v<X, Residual> ? 1e-6 * block.centre_x * block.centre_x * moments.n : 0;
      if (moments.m2_x >= std::max(block.sums[2] / 8, rounded) && moments.m2_y >= block.sums[3] / 8)
        all.merge(moments);
      else
        add_wide(begin, begin + size);
    }
    return all;
  });
}

} // namespace

CoMomentMetric::CoMomentMetric(int64_t num_outputs, at::ScalarType dtype,
                               std::optional<Accumulation> accumulation, X x)
    : RegressionMetric(
          [&] {
            std::vector<StateSpec> specs{{"count", {1}, StateSpec::Kind::kCount},
                                         {"mean_x", {num_outputs}, StateSpec::Kind::kMoment},
                                         {"mean_y", {num_outputs}, StateSpec::Kind::kMoment},
                                         {"m2_x", {num_outputs}, StateSpec::Kind::kMoment},
                                         {"m2_y", {num_outputs}, StateSpec::Kind::kMoment}};
            if (x == X::kResidual) {
              specs.push_back({"weighted", {1}, StateSpec::Kind::kCount});
              specs.push_back({"weight", {1}, StateSpec::Kind::kMoment});
            } else {
              specs.push_back({"c_xy", {num_outputs}, StateSpec::Kind::kMoment});
            }
            return specs;
          }(),
          num_outputs, dtype, accumulation),
      x_(x) {}

std::string CoMomentMetric::state_signature() const {
  return c10::str("co-moments, x=", static_cast<int>(x_), ", adding=", static_cast<int>(adding()),
                  ", ", RegressionMetric::signature());
}

void CoMomentMetric::update_with(const at::Tensor &preds, const at::Tensor &target,
                                 const at::Tensor &weight) {
  check_columns(preds, target);
  if (weight.defined()) {
    check_inputs({{"preds", preds}, {"weight", weight}});
    check_weight(name(), weight, {preds.size(0)});
  }
  const StateScope scope;
  if (!weight.defined() && update_fused(preds, target))
    return;
  const Accumulation format = accumulation_on(preds.device());
  const int64_t n = preds.size(0);
  const int64_t block = preds.is_cpu() ? std::max<int64_t>(kCacheBlock / num_outputs(), 1) : n;
  std::vector<at::Tensor> states = states_on(preds.device());
  for (int64_t start = 0; start < n; start += block) {
    const auto part = [&](const at::Tensor &all, int64_t columns) {
      return (block < n ? all.narrow(0, start, std::min(block, n - start)) : all)
          .reshape({-1, columns})
          .to(detail::base_dtype(format));
    };
    const at::Tensor y = part(target, num_outputs()), first = part(preds, num_outputs());
    states = merged(states, batch_states(x_ == X::kResidual ? first - y : first, y,
                                         weight.defined() ? part(weight, 1) : weight, format,
                                         states.size()));
  }
  set_states(std::move(states));
}

// The same in one pass over the inputs, and with the merge in host arithmetic.
bool CoMomentMetric::update_fused(const at::Tensor &preds, const at::Tensor &target) {
  if (!preds.is_cpu() || num_outputs() != 1 || preds.numel() == 0 ||
      accumulation_on(preds.device()) != Accumulation::kDouble)
    return false;
  const std::optional<HostMoments> batch = x_ == X::kResidual
                                               ? batch_moments<Residual>(preds, target, adding())
                                               : batch_moments<Preds>(preds, target, adding());
  if (!batch)
    return false;
  std::vector<at::Tensor> states = states_on(preds.device());
  const bool weights = takes_weights(states.size());
  HostMoments all = HostMoments::of(states);
  all.merge(*batch);
  const auto replace = [&](StateIndex index, auto value) { set_number(states[index], value); };
  replace(kCount, number<int64_t>(states[kCount]) + preds.numel());
  replace(kMeanX, all.mean_x);
  replace(kMeanY, all.mean_y);
  replace(kM2X, all.m2_x);
  replace(kM2Y, all.m2_y);
  if (!weights)
    replace(kCXY, all.c_xy);
  set_states(std::move(states));
  return true;
}

std::vector<at::Tensor> CoMomentMetric::merged(const std::vector<at::Tensor> &a,
                                               const std::vector<at::Tensor> &b) const {
  if (HostMoments::has(a)) {
    HostMoments all = HostMoments::of(a);
    all.merge(HostMoments::of(b));
    const auto state = [&](StateIndex index, auto value) { return state_of(value, a[index]); };
    const auto sum = [&]<typename T>(StateIndex index, T) {
      return state(index, number<T>(a[index]) + number<T>(b[index]));
    };
    std::vector<at::Tensor> states{sum(kCount, int64_t{}), state(kMeanX, all.mean_x),
                                   state(kMeanY, all.mean_y), state(kM2X, all.m2_x),
                                   state(kM2Y, all.m2_y)};
    if (takes_weights(a.size())) {
      states.push_back(sum(kWeighted, int64_t{}));
      states.push_back(sum(kWeight, double{}));
    } else {
      states.push_back(state(kCXY, all.c_xy));
    }
    return states;
  }
  const Accumulation format =
      a[kMeanX].scalar_type() == at::kDouble ? Accumulation::kDouble : Accumulation::kFloatPair;
  const at::Tensor count = a[kCount] + b[kCount];
  const Wide weight_a = weight_of(a, format), weight_b = weight_of(b, format);
  // Two empty sides keep their zeros: 0 / 1 rather than 0 / 0.
  const Wide both = weight_a + weight_b;
  const Wide share_b = weight_b / (both + Wide::from(both.rounded().eq(0).to(at::kLong), format));
  const Wide weight = weight_a * share_b;

  const Wide mean_x = Wide::from_state(a[kMeanX]);
  const Wide mean_y = Wide::from_state(a[kMeanY]);
  const Wide delta_x = Wide::from_state(b[kMeanX]) - mean_x;
  const Wide delta_y = Wide::from_state(b[kMeanY]) - mean_y;
  const auto combined = [&](StateIndex index, const Wide &between) {
    return (Wide::from_state(a[index]) + Wide::from_state(b[index]) + between * weight).to_state();
  };
  std::vector<at::Tensor> states{
      count, (mean_x + delta_x * share_b).to_state(), (mean_y + delta_y * share_b).to_state(),
      combined(kM2X, delta_x * delta_x), combined(kM2Y, delta_y * delta_y)};
  if (takes_weights(a.size())) {
    states.push_back(a[kWeighted] + b[kWeighted]);
    states.push_back((Wide::from_state(a[kWeight]) + Wide::from_state(b[kWeight])).to_state());
  } else {
    states.push_back(combined(kCXY, delta_x * delta_y));
  }
  return states;
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
  moments.weight =
      weight_of(states, states[kMeanX].scalar_type() == at::kDouble ? Accumulation::kDouble
                                                                    : Accumulation::kFloatPair)
          .rounded();
  moments.m2_x = Wide::from_state(states[kM2X]).rounded();
  moments.m2_y = Wide::from_state(states[kM2Y]).rounded();
  if (!takes_weights(states.size()))
    moments.c_xy = Wide::from_state(states[kCXY]).rounded();

  // A constant leaves a deviation of a few ulps of the mean in float64. In float32 the deviation
  // itself is exact and only its sum is rounded, which leaves far less; there one ulp is real
  // information.
  const double ulps = states[kMeanX].scalar_type() == at::kDouble
                          ? 4 * std::numeric_limits<double>::epsilon()
                          : 0.01 * static_cast<double>(std::numeric_limits<float>::epsilon());
  moments.constant_x = moments.m2_x <= (moments.mean_x * ulps).square() * moments.weight;
  moments.constant_y = moments.m2_y <= (moments.mean_y * ulps).square() * moments.weight;
  return moments;
}

} // namespace devsan::metrics
