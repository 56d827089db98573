#include "metrics/detail/wide.h"

#include <ATen/ATen.h>

namespace devsan::metrics::detail {

bool is_storage_only(at::ScalarType dtype) {
  return at::isFloat8Type(dtype) || at::isBarebonesUnsignedType(dtype);
}

at::ScalarType base_dtype(Accumulation format) {
  return format == Accumulation::kFloatPair ? at::kFloat : at::kDouble;
}

Wide Wide::from_state(const at::Tensor &state) {
  return state.scalar_type() == at::kDouble ? Wide(state[0]) : Wide(state[0], state[1]);
}

at::Tensor Wide::to_state() const {
  return is_pair() ? at::stack({high_, low_}) : high_.unsqueeze(0);
}

Wide Wide::from(const at::Tensor &x, Accumulation format) {
  const at::Tensor high = x.to(base_dtype(format));
  if (format == Accumulation::kDouble)
    return Wide(high);
  const bool integral = at::isIntegralType(x.scalar_type(), /*includeBool=*/true);
  return Wide(high,
              integral ? (x - high.to(x.scalar_type())).to(at::kFloat) : at::zeros_like(high));
}

Wide Wide::from_sum(const at::Tensor &high, const at::Tensor &low, Accumulation format) {
  return format == Accumulation::kDouble ? Wide(high + low) : quick_two_sum(high, low);
}

Wide Wide::two_sum(const at::Tensor &a, const at::Tensor &b) {
  const at::Tensor sum = a + b;
  const at::Tensor b_part = sum - a;
  return Wide(sum, (a - (sum - b_part)) + (b - b_part));
}

Wide Wide::quick_two_sum(const at::Tensor &a, const at::Tensor &b) {
  const at::Tensor sum = a + b;
  return Wide(sum, b - (sum - a));
}

Wide Wide::two_product(const at::Tensor &a, const at::Tensor &b) {
  // Halves of 12 bits, whose products are exact in float32.
  const auto split = [](const at::Tensor &x) {
    const at::Tensor scaled = x * 4097.;
    const at::Tensor high = scaled - (scaled - x);
    return std::pair(high, x - high);
  };
  const auto [a_high, a_low] = split(a);
  const auto [b_high, b_low] = split(b);
  const at::Tensor product = a * b;
  const at::Tensor error =
      ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return Wide(product, error);
}

Wide operator+(const Wide &a, const Wide &b) {
  if (!a.is_pair())
    return Wide(a.high_ + b.high_);
  const Wide sum = Wide::two_sum(a.high_, b.high_);
  const Wide rest = Wide::two_sum(a.low_, b.low_);
  const Wide carried = Wide::quick_two_sum(sum.high_, sum.low_ + rest.high_);
  return Wide::quick_two_sum(carried.high_, carried.low_ + rest.low_);
}

Wide operator-(const Wide &a, const Wide &b) {
  return a + (b.is_pair() ? Wide(-b.high_, -b.low_) : Wide(-b.high_));
}

Wide operator*(const Wide &a, const Wide &b) {
  if (!a.is_pair())
    return Wide(a.high_ * b.high_);
  const Wide product = Wide::two_product(a.high_, b.high_);
  return Wide::quick_two_sum(product.high_, product.low_ + (a.high_ * b.low_ + a.low_ * b.high_));
}

Wide operator/(const Wide &a, const Wide &b) {
  if (!a.is_pair())
    return Wide(a.high_ / b.high_);
  const at::Tensor quotient = a.high_ / b.high_;
  const Wide rest = a - Wide(quotient, at::zeros_like(quotient)) * b;
  return Wide::quick_two_sum(quotient, rest.high_ / b.high_);
}

} // namespace devsan::metrics::detail
