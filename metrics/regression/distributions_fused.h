// The sum of a term over the numbers of two sets of rows [N, D] as discrete distributions, on the
// CPU without temporaries of their size.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "metrics/detail/lane_math.h"

namespace devsan::metrics::detail {

// p log(p / q), 0 where p is 0 and NaN where one is negative or NaN, or q alone is 0;
// difference = p - q.
[[gnu::always_inline]] inline Lanes relative_entropy_term(const Lanes &p, const Lanes &q,
                                                          const Lanes &difference) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Lanes none = where_less(p, 0, kNan, where_less(q, 0, kNan, p + 0 * q));
  return where_less(0, p, p * log_of_ratio(p, q, difference), none);
}

// e^x of the logarithm of a probability; NaN of what is none.
[[gnu::always_inline]] inline Lanes probability(const Lanes &x) {
  return where_less(x, 1, exp_of_negative(x), std::numeric_limits<double>::quiet_NaN());
}

// What is below, e^-700, is lost in any sum of probabilities.
inline constexpr double kNoProbability = -700;

// p log(p / q) of log p and log q, 0 where p is 0 and NaN where q alone is.
[[gnu::always_inline]] inline Lanes relative_entropy_term_of_logs(const Lanes &p, const Lanes &q) {
  constexpr double kLeast = std::numeric_limits<double>::lowest();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Lanes of_little = where_less(p, kLeast, 0, where_less(q, kLeast, kNan, 0));
  return where_less(p, kNoProbability, of_little, probability(p) * (p - q));
}

// Half of p log(p / m) + q log(q / m), m their mean, of log p and log q; 0 where both are 0.
[[gnu::always_inline]] inline Lanes divergence_term_of_logs(const Lanes &p, const Lanes &q) {
  constexpr double kLn2 = 0.69314718055994531;
  const Lanes high = where_less(p, q, q, p), low = where_less(p, q, p, q);
  const Lanes d = low - high;
  const Lanes of_high = kLn2 - log1p_of_part(exp_of_negative(d)); // log(high / m)
  const Lanes of_low = where_less(low, kNoProbability, 0, probability(low) * (d + of_high));
  return where_less(high, kNoProbability, 0, 0.5 * (probability(high) * of_high + of_low));
}

// The sum of a term of logarithms of probabilities. None where fused_sums() can not, or where the
// sum is infinite or NaN.
template <typename Term>
std::optional<std::vector<double>>
fused_log_distributions(const at::Tensor &preds, const at::Tensor &target, const Term &term) {
  return finite(fused_sum_list<1>(preds, target, term));
}

// kRows rows of `width` numbers, divided by their sums; side by side, since each sum is added one
// number after the other.
template <int64_t kRows> [[gnu::always_inline]] inline void normalise(double *rows, int64_t width) {
  double sums[kRows] = {}, factors[kRows];
  for (int64_t i = 0; i < width; ++i)
    for (int64_t r = 0; r < kRows; ++r)
      sums[r] += rows[r * width + i];
  // Negative numbers of a negative sum are not to become probabilities.
  for (int64_t r = 0; r < kRows; ++r)
    factors[r] = sums[r] > 0 ? 1 / sums[r] : std::numeric_limits<double>::quiet_NaN();
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t i = 0; i < width; ++i)
      rows[r * width + i] *= factors[r];
}

template <typename T> void normalised_rows(const T *from, int64_t size, int64_t width, double *to) {
  by_best([=]() __attribute__((always_inline)) {
    constexpr int64_t kRows = 8;
    for (int64_t i = 0; i < size; ++i)
      to[i] = static_cast<double>(from[i]);
    int64_t i = 0;
    for (; i + kRows * width <= size; i += kRows * width)
      normalise<kRows>(to + i, width);
    for (; i < size; i += width)
      normalise<1>(to + i, width);
  });
}

// The rows are divided by their sums. None where fused_sums() can not, or for rows that are no
// distributions and whatever else makes the sum infinite or NaN.
template <typename Term>
std::optional<std::vector<double>> fused_distributions(const at::Tensor &preds,
                                                       const at::Tensor &target, const Term &term) {
  const int64_t width = preds.size(1);
  const auto sum = with_numbers(preds, target, [&](const auto *p, const auto *q, int64_t n) {
    constexpr int64_t kBlock = 4096;
    const int64_t block = std::max<int64_t>(kBlock / width, 1) * width;
    const auto room = static_cast<size_t>(std::min(block, n));
    std::vector<double> first(room), second(room);
    double sum_of_blocks = 0;
    for (int64_t begin = 0; begin < n; begin += block) {
      const int64_t size = std::min(block, n - begin);
      normalised_rows(p + begin, size, width, first.data());
      normalised_rows(q + begin, size, width, second.data());
      sum_of_blocks += sums_of<1>(first.data(), second.data(), size, term)[0];
    }
    return sum_of_blocks;
  });
  return finite(sum ? std::optional(std::vector<double>{*sum}) : std::nullopt);
}

} // namespace devsan::metrics::detail
