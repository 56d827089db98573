#pragma once

#include <ATen/ops/abs.h>
#include <ATen/ops/empty_like.h>

namespace devsan::metrics::detail {

// |x|, on `meta` tensors too, for which ATen has no abs().
inline at::Tensor absolute(const at::Tensor &x) {
  return x.is_meta() ? at::empty_like(x) : at::abs(x);
}

} // namespace devsan::metrics::detail
