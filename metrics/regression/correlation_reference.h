// What the correlation metrics are tested against: the textbook formulas as loops over host
// numbers, in two passes and in extended precision; and inputs for them.
#pragma once

#include <cmath>
#include <vector>

#include <ATen/ATen.h>

namespace devsan::metrics {

struct ReferenceMoments {
  long double n = 0, mean_x = 0, mean_y = 0, m2_x = 0, m2_y = 0, c_xy = 0;

  ReferenceMoments(const std::vector<double> &x, const std::vector<double> &y) : n(x.size()) {
    for (size_t i = 0; i < x.size(); ++i) {
      mean_x += x[i] / n;
      mean_y += y[i] / n;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      m2_x += (x[i] - mean_x) * (x[i] - mean_x);
      m2_y += (y[i] - mean_y) * (y[i] - mean_y);
      c_xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
  }

  double pearson() const { return static_cast<double>(c_xy / std::sqrt(m2_x * m2_y)); }

  double concordance(bool unbiased) const {
    const long double divisor = unbiased ? n - 1 : n;
    const long double shift = mean_x - mean_y;
    return static_cast<double>(2 * c_xy / divisor / ((m2_x + m2_y) / divisor + shift * shift));
  }
};

struct Pairs {
  at::Tensor preds, target;
};

// Correlated pairs around `mean`, [n, outputs], or [n] for one output, as float64 on the host.
inline Pairs random_pairs(int64_t n, int64_t outputs = 1, double mean = 0) {
  const std::vector<int64_t> sizes =
      outputs == 1 ? std::vector<int64_t>{n} : std::vector<int64_t>{n, outputs};
  const at::Tensor target = at::randn(sizes, at::kDouble);
  return {target + 0.5 * at::randn(sizes, at::kDouble) + mean, target + mean};
}

// As float32, numbers that are hard to add: a large mean, tiny and huge ones, blocks that begin
// with outliers or are constant, a trend.
inline std::vector<Pairs> hard_pairs(int64_t n) {
  const at::Tensor target = at::randn({n}, at::kDouble);
  const at::Tensor preds = target + 0.5 * at::randn({n}, at::kDouble);
  const at::Tensor begin = at::arange(n).lt(64), ramp = at::linspace(0, 1e4, n, at::kDouble);
  std::vector<Pairs> all{{preds + 1e4, target + 1e4},
                         {preds + 1e5, target},
                         {preds * 1e-21, target * 1e-21},
                         {preds * 1e25, target * 1e25},
                         {preds + 1e7 * begin, target - 1e7 * begin},
                         {preds * at::arange(n).ge(n / 2), target},
                         {preds + ramp, target + ramp}};
  for (Pairs &pairs : all)
    pairs = {pairs.preds.to(at::kFloat), pairs.target.to(at::kFloat)};
  return all;
}

} // namespace devsan::metrics
