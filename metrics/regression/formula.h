// For SampleSums: terms that are one formula, for the CPU's lanes and for tensors.
#pragma once

#include "metrics/detail/fused.h"
#include "metrics/detail/meta.h"
#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {
namespace detail {

// |x|; absolute() is ATen's, too, which has no meta kernel.
inline at::Tensor magnitude(const at::Tensor &x) {
  return detail::absolute(x);
}
template <typename T> [[gnu::always_inline]] inline LanesOf<T> magnitude(const LanesOf<T> &x) {
  return absolute(x);
}

// What lanes have (fused.h, lane_math.h), of tensors.
inline at::Tensor at_least(const at::Tensor &x, double least) {
  return x.clamp_min(least);
}
inline at::Tensor exp_of_negative(const at::Tensor &x) {
  return x.exp();
}
inline at::Tensor log1p_of_part(const at::Tensor &x) {
  return x.log1p();
}

} // namespace detail

// `Terms` is a function object without a state, whose call gives an array of the summands of each
// sum of predictions x and targets y. Narrow: float32 terms may be added as such, see
// detail::Adding.
template <bool narrow, class Terms> SampleSums::Formula formula_of(Terms) {
  return {[](const at::Tensor &x, const at::Tensor &y) {
            const auto terms = Terms()(x, y);
            return std::vector<at::Tensor>(terms.begin(), terms.end());
          },
          [](const at::Tensor &x, const at::Tensor &y, detail::Adding adding) {
            constexpr size_t kNumber = std::tuple_size_v<decltype(Terms()(x, y))>;
            const auto add = [](const auto &a, const auto &b, auto &sums) {
              const auto terms = Terms()(a, b);
              for (size_t i = 0; i < kNumber; ++i)
                sums[i] += terms[i];
            };
            if constexpr (narrow)
              return detail::fused_sum_list<kNumber>(x, y, adding, add);
            else
              return detail::finite(detail::fused_sum_list<kNumber>(x, y, add));
          }};
}

} // namespace devsan::metrics
