// Rows [N, D] as discrete distributions; results are [N, 1].
#pragma once

#include <limits>

#include <ATen/ATen.h>

namespace devsan::metrics::detail {

inline constexpr const char *kDistributions = "rows without negative entries and of a sum above 0";

inline at::Tensor no_distribution(const at::Tensor &x) {
  return x.lt(0).any(1, /*keepdim=*/true).bitwise_or(x.sum(1, /*keepdim=*/true).le(0));
}

inline at::Tensor normalised(const at::Tensor &x) {
  return x / x.sum(1, /*keepdim=*/true);
}

// sum p log(p / q), with 0 log(0 / q) = 0 for every q, 0 too.
inline at::Tensor relative_entropy(const at::Tensor &p, const at::Tensor &q) {
  return (p * (p / q).log()).masked_fill(p.eq(0), 0).sum(1, /*keepdim=*/true);
}

// The same of log p and log q.
inline at::Tensor relative_entropy_of_logs(const at::Tensor &p, const at::Tensor &q) {
  const at::Tensor excluded = p.eq(-std::numeric_limits<double>::infinity());
  return (p.exp() * (p - q)).masked_fill(excluded, 0).sum(1, /*keepdim=*/true);
}

} // namespace devsan::metrics::detail
