#include "metrics/detail/fused.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "metrics/detail/lane_math.h"

namespace devsan::metrics::detail {
namespace {

std::vector<double> random_numbers(int64_t n, int seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> exponent(-30, 30);
  std::vector<double> numbers(n);
  for (double &number : numbers)
    number = std::exp(exponent(generator));
  return numbers;
}

// Of one number each, by a vector of them.
template <typename Function> double once(double x, double y, const Function &function) {
  return sums_of<1>(&x, &y, 1, [&](const Lanes &a, const Lanes &b, LaneSums<1> &sums) {
    sums[0] += function(a, b);
  })[0];
}

TEST(FusedSums, AreOfAllNumbers) {
  for (const int64_t n : {0, 1, 7, 8, 31, 33, 4095, 4096, 4105, 10000}) {
    const std::vector<double> x = random_numbers(n, 1), y = random_numbers(n, 2);
    long double products = 0, differences = 0;
    for (int64_t i = 0; i < n; ++i) {
      products += static_cast<long double>(x[i]) * y[i];
      differences += std::abs(static_cast<long double>(x[i]) - y[i]);
    }
    // A constant, too, which numbers that fill up the last vector must not add.
    const Sums<3> sums =
        sums_of<3>(x.data(), y.data(), n, [](const Lanes &a, const Lanes &b, LaneSums<3> &to) {
          to[0] += a * b;
          to[1] += absolute(a - b);
          to[2] += 1;
        });
    EXPECT_NEAR(sums[0], static_cast<double>(products), 1e-13 * static_cast<double>(products)) << n;
    EXPECT_NEAR(sums[1], static_cast<double>(differences), 1e-13 * static_cast<double>(differences))
        << n;
    EXPECT_EQ(sums[2], static_cast<double>(n));
  }
}

#if defined(__x86_64__) && defined(__clang__)
TEST(FusedSums, AreTheSameBitsOnEveryProcessor) {
  const auto expect_same = [](const auto *x, const auto *y, int64_t n) {
    const auto term = [](const Lanes &a, const Lanes &b, LaneSums<2> &sums) {
      const Lanes d = a - b;
      sums[0] += d * d;
      sums[1] += log_of_ratio(a, b, d) + exp_of_negative(0 - absolute(d));
    };
    const Sums<2> plain = sums_by_lanes<2>(x, y, n, term);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      EXPECT_EQ(plain, (by_avx2([&] { return sums_by_lanes<2>(x, y, n, term); })));
    }
    if (__builtin_cpu_supports("avx512f")) {
      EXPECT_EQ(plain, (by_avx512([&] { return sums_by_lanes<2>(x, y, n, term); })));
    }
  };
  for (const int64_t n : {5, 64, 4103, 9999}) {
    const std::vector<double> x = random_numbers(n, 3), y = random_numbers(n, 4);
    expect_same(x.data(), y.data(), n);
    const std::vector<float> narrow_x(x.begin(), x.end()), narrow_y(y.begin(), y.end());
    expect_same(narrow_x.data(), narrow_y.data(), n);

    const auto narrow = [&] {
      return sums_by_narrow_lanes<1>(narrow_x.data(), narrow_y.data(), n,
                                     [](const auto &a, const auto &b, auto &sums) {
                                       const auto d = a - b;
                                       sums[0] += d * d;
                                     });
    };
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      EXPECT_EQ(narrow(), by_avx2(narrow));
    }
    if (__builtin_cpu_supports("avx512f")) {
      EXPECT_EQ(narrow(), by_avx512(narrow));
    }
  }
}
#endif

// Of float32, with all of it in float32 where that can be.
Sums<1> narrow_squares(const std::vector<float> &x, const std::vector<float> &y) {
  return sums_of<1>(x.data(), y.data(), static_cast<int64_t>(x.size()), Adding::kNarrow,
                    [](const auto &a, const auto &b, auto &sums) {
                      const auto d = a - b;
                      sums[0] += d * d;
                    });
}

TEST(NarrowSums, AreThoseOfTheNumbersWidened) {
  std::mt19937_64 generator(7);
  for (const double scale : {1., 1e4, 1e-16, 1e-25, 1e-40, 1e18, 1e25, 3e38}) {
    std::normal_distribution<double> normal(0, scale);
    std::vector<float> x(10007), y(10007);
    long double expected = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(std::clamp(normal(generator), -3.4e38, 3.4e38));
      y[i] = static_cast<float>(std::clamp(normal(generator), -3.4e38, 3.4e38));
      const long double d = static_cast<long double>(x[i]) - y[i];
      expected += d * d;
    }
    EXPECT_NEAR(narrow_squares(x, y)[0] / static_cast<double>(expected), 1, 1e-8) << scale;
    x[5000] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(narrow_squares(x, y)[0], std::numeric_limits<double>::infinity());
    y[3] = NAN;
    EXPECT_TRUE(std::isnan(narrow_squares(x, y)[0]));
  }
  const std::vector<float> same(5000, 0.1F);
  EXPECT_EQ(narrow_squares(same, same)[0], 0);
}

TEST(LaneMath, LogarithmsAreThoseOfTheLibrary) {
  const auto log_of = [](double a, double b) {
    return once(a, b, [](const Lanes &x, const Lanes &y) { return log_of_ratio(x, y, x - y); });
  };
  std::vector<double> a = random_numbers(20000, 5), b = random_numbers(20000, 6);
  for (size_t i = 0; i < a.size(); ++i) {
    if (i % 2 == 0) // close to one another
      b[i] = a[i] * (1 + std::ldexp(1., -static_cast<int>(i % 50)));
    const double expected = b[i] > 0.5 * a[i] && b[i] < 2 * a[i] ? std::log1p((a[i] - b[i]) / b[i])
                                                                 : std::log(a[i] / b[i]);
    EXPECT_NEAR(log_of(a[i], b[i]), expected, 2e-15 * std::abs(expected) + 2e-16)
        << a[i] << ' ' << b[i];
  }
  const auto log1p_of = [](double x) {
    return once(x, x, [](const Lanes &y, const Lanes &) { return log_of_ratio(1 + y, 1, y); });
  };
  for (const double x : {1e-300, 1e-17, -1e-12, 0.3, -0.3, 0.42, 1., 1e5, 1e300})
    EXPECT_NEAR(log1p_of(x), std::log1p(x), 1e-15 * std::abs(std::log1p(x))) << x;
  EXPECT_EQ(log_of(3, 3), 0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0., -1., kInfinity, -kInfinity, double{NAN}, 1e-310}) {
    EXPECT_TRUE(std::isnan(log_of(bad, 1))) << bad;
    EXPECT_TRUE(std::isnan(log_of(1, bad))) << bad;
  }
}

TEST(LaneMath, ExponentialsAreThoseOfTheLibrary) {
  const auto exp_of = [](double x) {
    return once(x, x, [](const Lanes &y, const Lanes &) { return exp_of_negative(y); });
  };
  for (double x = 0; x > -700; x = x * 1.01 - 1e-6)
    EXPECT_NEAR(exp_of(x), std::exp(x), 1e-15 * std::exp(x)) << x;
  for (const double x : {0., 1e-300, 1e-9, 0.1, 0.5, 0.99, 1.}) {
    const double found = once(x, x, [](const Lanes &y, const Lanes &) { return log1p_of_part(y); });
    EXPECT_NEAR(found, std::log1p(x), 1e-15 * std::log1p(x)) << x;
  }
  EXPECT_EQ(exp_of(-701), 0);
  EXPECT_EQ(exp_of(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_TRUE(std::isnan(exp_of(NAN)));
}

} // namespace
} // namespace devsan::metrics::detail
