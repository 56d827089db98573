// Operators that ATen has no meta kernel for, so that metrics run on `meta` tensors, too.
#pragma once

#include <ATen/ops/abs.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/where.h>

namespace devsan::metrics::detail {

// |x|
inline at::Tensor absolute(const at::Tensor &x) {
  return x.is_meta() ? at::empty_like(x) : at::abs(x);
}

// `a` where `condition`, else `b`.
inline at::Tensor where(const at::Tensor &condition, const at::Tensor &a, const at::Tensor &b) {
  return condition.is_meta() ? (a + b).masked_fill(condition, 0) : at::where(condition, a, b);
}

inline at::Tensor is_nan(const at::Tensor &x) {
  return at::ne(x, x);
}

} // namespace devsan::metrics::detail
