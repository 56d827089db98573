// Logarithms and exponentials of eight numbers at once, for terms of fused_sums(), to a few units
// in the last place. What they are not defined for or do not care to handle, such as infinity and
// denormal numbers, is NaN: a caller who finds NaN in its sums does it by ATen's functions.
#pragma once

#include <limits>

#include "metrics/detail/fused.h"

namespace devsan::metrics::detail {

// c[0] + c[1] x + c[2] x^2 + ... By pairs (Estrin), since the latency of one step after the other
// costs several times what the steps do.
template <size_t N>
[[gnu::always_inline]] inline Lanes paired(const Lanes &x, const std::array<Lanes, N> &c) {
  if constexpr (N == 1) {
    return c[0];
  } else {
    std::array<Lanes, (N + 1) / 2> pairs;
    for (size_t i = 0; i < N / 2; ++i)
      pairs[i] = multiply_add(c[2 * i + 1], x, c[2 * i]);
    if constexpr (N % 2 == 1)
      pairs[N / 2] = c[N - 1];
    return paired(x * x, pairs);
  }
}
template <size_t N>
[[gnu::always_inline]] inline Lanes polynomial(const Lanes &x, const double (&c)[N]) {
  std::array<Lanes, N> lanes;
  for (size_t i = 0; i < N; ++i)
    lanes[i] = c[i];
  return paired(x, lanes);
}

// log(a / b), where difference = a - b as exactly as the caller knows it: 1 + x and 1 have the
// difference x. By 2 artanh((a - b) / (a + b)), after the exponents; one division.
[[gnu::always_inline]] inline Lanes log_of_ratio(const Lanes &a, const Lanes &b,
                                                 const Lanes &difference) {
  constexpr double kRootOf2 = 1.4142135623730951, kLn2 = 0.69314718055994531;
  Lanes x = a.mantissa(), y = b.mantissa();
  Lanes k = a.exponent() - b.exponent();
  // To a quotient between the roots of 1/2 and of 2.
  const Lanes half_x = x * 0.5, half_y = y * 0.5;
  const Lanes above = y * kRootOf2, below = x * kRootOf2;
  k = k + where_less(above, x, 1, where_less(below, y, -1, 0));
  const Lanes reduced_x = where_less(above, x, half_x, x);
  const Lanes reduced_y = where_less(below, y, half_y, y);
  const Lanes size = absolute(k); // an integer
  const Lanes s = where_less(size, 0.5, difference, reduced_x - reduced_y) /
                  where_less(size, 0.5, a + b, reduced_x + reduced_y);
  const Lanes w = s * s; // at most 0.0295
  const Lanes p = polynomial(
      w, {2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13, 2. / 15, 2. / 17, 2. / 19, 2. / 21});
  const Lanes result = multiply_add(k, kLn2, multiply_add(s * w, p, s * 2));
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kLeast = std::numeric_limits<double>::min();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto checked = [&](const Lanes &of, const Lanes &good) __attribute__((always_inline)) {
    return where_less(of, kLeast, kNan, where_less(of, kInfinity, good, kNan));
  };
  return checked(a, checked(b, result));
}

// log(1 + x) of x in [0, 1].
[[gnu::always_inline]] inline Lanes log1p_of_part(const Lanes &x) {
  const Lanes s = x / (2 + x);
  const Lanes w = s * s; // at most 1/9
  const Lanes p =
      polynomial(w, {2. / 3, 2. / 5, 2. / 7, 2. / 9, 2. / 11, 2. / 13, 2. / 15, 2. / 17, 2. / 19,
                     2. / 21, 2. / 23, 2. / 25, 2. / 27, 2. / 29, 2. / 31, 2. / 33, 2. / 35});
  return multiply_add(s * w, p, s * 2);
}

// e^x of x <= 0, 0 below -700: 2^n e^r with r in [-ln 2 / 2, ln 2 / 2], by the Taylor polynomial.
[[gnu::always_inline]] inline Lanes exp_of_negative(const Lanes &x) {
  constexpr double kLeast = -700;
  const Lanes clamped = where_less(x, kLeast, kLeast, x);
  // Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
  constexpr double kShift = 6755399441055744.;
  const Lanes shifted = multiply_add(clamped, 1.4426950408889634, kShift);
  const Lanes n = shifted - kShift;
  // ln 2 in two parts, the first of 32 bits.
  const Lanes r =
      multiply_add(n, -1.9082149292705877e-10, multiply_add(n, -0.6931471803691238, clamped));
  const Lanes p =
      polynomial(r, {1, 1, 0.5, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320,
                     1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800});
  const Lanes result = p.scaled_by(shifted);
  return where_less(x, kLeast, 0, where_nan(x, x, result));
}

} // namespace devsan::metrics::detail
