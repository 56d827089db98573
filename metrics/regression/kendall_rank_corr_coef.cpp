#include "metrics/regression/kendall_rank_corr_coef.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/meta.h"

namespace devsan::metrics {
namespace {

// How many pairs of a row of `x` [k, N], of int64 in [0, N), stand in the wrong order; int64 [k].
at::Tensor inversions(const at::Tensor &x) {
  const int64_t k = x.size(0), n = x.size(1);
  int64_t padded = 1;
  while (padded < n)
    padded *= 2;
  // Larger than all and behind all: in no inversion.
  at::Tensor blocks = at::cat({x, at::full({k, padded - n}, n, x.options())}, 1);
  at::Tensor count = at::zeros({k}, x.options());
  for (int64_t width = 1; width < padded; width *= 2) {
    const at::Tensor halves = blocks.view({k, padded / (2 * width), 2, width});
    const at::Tensor left = halves.select(2, 0).contiguous(),
                     right = halves.select(2, 1).contiguous();
    const at::Tensor not_above = at::searchsorted(left, right, /*out_int32=*/false, /*right=*/true);
    count = count + (width - not_above).sum(at::IntArrayRef{1, 2});
    blocks = std::get<0>(blocks.view({k, padded / (2 * width), 2 * width}).sort(2));
  }
  return count;
}

at::Tensor distinct(const at::Tensor &sorted) {
  const int64_t n = sorted.size(1);
  return sorted.narrow(1, 1, n - 1).ne(sorted.narrow(1, 0, n - 1)).sum(1) + 1;
}

} // namespace

KendallRankCorrCoef::KendallRankCorrCoef(const KendallRankCorrCoefOptions &options)
    : RankCorrelation(checked_num_outputs("KendallRankCorrCoef", options.num_outputs()),
                      options.dtype()),
      options_(options) {}

KendallRankCorrCoef::Pairs KendallRankCorrCoef::pairs(const All &inputs) const {
  const Places x = places(inputs.preds), y = places(inputs.target);
  // One number for both: ordered by x, and by y where x is tied.
  const Places both = places(x.restored(x.below) * inputs.n + y.restored(y.below));
  const auto tied = [](const Places &at) {
    return (at.up_to - at.below - 1).sum(1).floor_divide(2);
  };
  Pairs pairs{x, y, tied(x), tied(y), {}};
  const at::Tensor discordant = inversions(both.sorted.remainder(inputs.n));
  pairs.surplus =
      inputs.n * (inputs.n - 1) / 2 - pairs.tied_x - pairs.tied_y + tied(both) - 2 * discordant;
  return pairs;
}

at::Tensor KendallRankCorrCoef::compute() const {
  const StateScope scope;
  const All inputs = all();
  if (inputs.n < 2)
    return undefined(inputs);
  const Pairs pairs = this->pairs(inputs);
  const auto real = [&](const at::Tensor &x) { return x.to(inputs.base); };
  const auto n = static_cast<double>(inputs.n);
  const double all_pairs = n * (n - 1) / 2;
  at::Tensor tau;
  switch (options_.variant()) {
  case KendallVariant::kA:
    tau = real(pairs.surplus) / all_pairs;
    break;
  case KendallVariant::kB:
    tau = real(pairs.surplus) / (all_pairs - real(pairs.tied_x)).sqrt() /
          (all_pairs - real(pairs.tied_y)).sqrt();
    break;
  case KendallVariant::kC: {
    const at::Tensor m = real(at::minimum(distinct(pairs.x.sorted), distinct(pairs.y.sorted)));
    tau = real(pairs.surplus) * m * (2 / (n * n)) / (m - 1);
    break;
  }
  }
  return shaped_result(tau.clamp(-1, 1).masked_fill(inputs.any_nan, NAN));
}

at::Tensor KendallRankCorrCoef::p_value() const {
  const StateScope scope;
  const All inputs = all();
  if (inputs.n < 2)
    return undefined(inputs);
  const Pairs pairs = this->pairs(inputs);
  const auto n = static_cast<double>(inputs.n);
  // Sums over groups of t equal numbers, taken over their members.
  const auto sums = [&](const Places &at) {
    const at::Tensor t = (at.up_to - at.below).to(inputs.base);
    return std::tuple(((t - 1) * (t - 2)).sum(1), ((t - 1) * (2 * t + 5)).sum(1));
  };
  const auto [x_two, x_five] = sums(pairs.x);
  const auto [y_two, y_five] = sums(pairs.y);
  const double m = n * (n - 1);
  at::Tensor variance = (m * (2 * n + 5) - x_five - y_five) / 18 +
                        2 / m * pairs.tied_x.to(inputs.base) * pairs.tied_y.to(inputs.base);
  if (inputs.n > 2)
    variance = variance + x_two * y_two / (9 * m * (n - 2));
  const at::Tensor z = pairs.surplus.to(inputs.base) / variance.sqrt() / std::sqrt(2.);
  at::Tensor p;
  switch (options_.alternative()) {
  case Alternative::kTwoSided:
    p = detail::absolute(z).erfc();
    break;
  case Alternative::kLess:
    p = z.neg().erfc() / 2;
    break;
  case Alternative::kGreater:
    p = z.erfc() / 2;
    break;
  }
  return shaped_result(p.masked_fill(inputs.any_nan, NAN));
}

std::string KendallRankCorrCoef::signature() const {
  return RankCorrelation::signature() +
         c10::str(", variant=", static_cast<int>(options_.variant()),
                  ", alternative=", static_cast<int>(options_.alternative()));
}

} // namespace devsan::metrics
