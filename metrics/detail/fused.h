// Sums over pairs of numbers on the CPU in one pass: no widened copies, no temporaries, which for
// more than a few thousand samples cost far more than the arithmetic. For terms of elementary
// arithmetic; ATen's vectorised functions are faster where a term has logarithms.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace devsan::metrics::detail {

template <size_t K> using Sums = std::array<double, K>;

template <size_t K, typename T, typename Term>
[[gnu::always_inline]] inline Sums<K> sums_by_lanes(const T *x, const T *y, int64_t n,
                                                    const Term &term) {
  // Lanes for the vector units, blocks so that the rounding error grows with the number of blocks
  // and not of samples.
  constexpr int64_t kLanes = K <= 2 ? 8 : 4; // that the registers hold
  constexpr int64_t kBlock = 4096;
  Sums<K> total{};
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    double lanes[K][kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const Sums<K> terms =
            term(static_cast<double>(x[i + lane]), static_cast<double>(y[i + lane]));
        for (size_t k = 0; k < K; ++k)
          lanes[k][lane] += terms[k];
      }
    for (; i < end; ++i) {
      const Sums<K> terms = term(static_cast<double>(x[i]), static_cast<double>(y[i]));
      for (size_t k = 0; k < K; ++k)
        lanes[k][0] += terms[k];
    }
    for (size_t k = 0; k < K; ++k)
      for (const double lane : lanes[k])
        total[k] += lane;
  }
  return total;
}

#if defined(__x86_64__)
template <size_t K, typename T, typename Term>
[[gnu::target("avx2")]] Sums<K> sums_by_avx2(const T *x, const T *y, int64_t n, const Term &term) {
  return sums_by_lanes<K>(x, y, n, term);
}
#endif

// The same bits on every processor, as the lanes are.
template <size_t K, typename T, typename Term>
Sums<K> sums_of(const T *x, const T *y, int64_t n, const Term &term) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return sums_by_avx2<K>(x, y, n, term);
#endif
  return sums_by_lanes<K>(x, y, n, term);
}

// The sums of term(x, y) over all pairs of two tensors of one shape, where they are contiguous
// float32 or float64 on the CPU; none otherwise.
template <size_t K, typename Term>
std::optional<Sums<K>> fused_sums(const at::Tensor &x, const at::Tensor &y, const Term &term) {
  const auto plain = [](const at::Tensor &t) {
    return t.is_cpu() && t.is_contiguous() && !t.is_neg();
  };
  if (!plain(x) || !plain(y) || x.scalar_type() != y.scalar_type())
    return std::nullopt;
  if (x.scalar_type() == at::kFloat)
    return sums_of<K>(x.const_data_ptr<float>(), y.const_data_ptr<float>(), x.numel(), term);
  if (x.scalar_type() == at::kDouble)
    return sums_of<K>(x.const_data_ptr<double>(), y.const_data_ptr<double>(), x.numel(), term);
  return std::nullopt;
}

// As a list.
template <size_t K, typename Term>
std::optional<std::vector<double>> fused_sum_list(const at::Tensor &x, const at::Tensor &y,
                                                  const Term &term) {
  const std::optional<Sums<K>> sums = fused_sums<K>(x, y, term);
  if (!sums)
    return std::nullopt;
  return std::vector<double>(sums->begin(), sums->end());
}

// For states on the CPU that are one number: a new one of another value, and of one that is larger
// by `number`.
template <typename T> at::Tensor with_value(const at::Tensor &state, T value) {
  at::Tensor result = at::empty(state.sizes(), state.options());
  *result.mutable_data_ptr<T>() = value;
  return result;
}

template <typename T> at::Tensor plus(const at::Tensor &state, T number) {
  return with_value<T>(state, *state.const_data_ptr<T>() + number);
}

// max(x, least), NaN where x is.
inline double at_least(double x, double least) {
  return x < least ? least : x;
}

} // namespace devsan::metrics::detail
