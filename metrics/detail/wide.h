// Real numbers in the accumulation format of their device (see Accumulation): float64, or the
// unevaluated sum of two float32. Elementwise, broadcasting, on the device; error-free
// transformations after Dekker (1971) and Knuth (TAOCP 2, 4.2.2). Every step is an ATen operator of
// its own, so no compiler contracts a product and a sum behind our back.
#pragma once

#include <ATen/core/Tensor.h>

#include "metrics/metric.h"

namespace devsan::metrics::detail {

class Wide {
public:
  // From a state of kind kMoment, [1, ...] float64 or [2, ...] float32, and back.
  static Wide from_state(const at::Tensor &state);
  at::Tensor to_state() const;

  // Exact for int64 below 2^48, and for floating inputs that the format can hold.
  static Wide from(const at::Tensor &x, Accumulation format);
  // high + low, with |low| small against |high|.
  static Wide from_sum(const at::Tensor &high, const at::Tensor &low, Accumulation format);

  // Rounded to one tensor of the format's base dtype.
  const at::Tensor &rounded() const { return high_; }

  friend Wide operator+(const Wide &a, const Wide &b);
  friend Wide operator-(const Wide &a, const Wide &b);
  friend Wide operator*(const Wide &a, const Wide &b);
  friend Wide operator/(const Wide &a, const Wide &b);

private:
  explicit Wide(at::Tensor high, at::Tensor low = {})
      : high_(std::move(high)), low_(std::move(low)) {}
  bool is_pair() const { return low_.defined(); }

  static Wide two_sum(const at::Tensor &a, const at::Tensor &b);
  static Wide quick_two_sum(const at::Tensor &a, const at::Tensor &b);
  static Wide two_product(const at::Tensor &a, const at::Tensor &b);

  at::Tensor high_;
  at::Tensor low_; // undefined for float64
};

// Whether LibTorch can store and convert numbers of this dtype, but hardly compute with them.
bool is_storage_only(at::ScalarType dtype);

// The dtype that a batch is read in: float64, or the float32 that pairs are made of.
at::ScalarType base_dtype(Accumulation format);

} // namespace devsan::metrics::detail
