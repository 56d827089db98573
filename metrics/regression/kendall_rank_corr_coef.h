#pragma once

#include <torch/arg.h>

#include "metrics/regression/rank_correlation.h"

namespace devsan::metrics {

// What the surplus C - D of concordant over discordant pairs is related to.
enum class KendallVariant {
  kA, // all pairs, N (N - 1) / 2
  kB, // sqrt((pairs not tied in preds) (pairs not tied in target))
  kC, // N^2 (m - 1) / (2 m), m the smaller number of different values: Stuart's tau-c
};

// What the p-value is the probability of, if both inputs are independent.
enum class Alternative { kTwoSided, kLess, kGreater };

struct KendallRankCorrCoefOptions {
  KendallRankCorrCoefOptions(int64_t num_outputs = 1) : num_outputs_(num_outputs) {}
  // Columns of the inputs, each correlated on its own.
  TORCH_ARG(int64_t, num_outputs);
  TORCH_ARG(KendallVariant, variant) = KendallVariant::kB;
  // Of p_value().
  TORCH_ARG(Alternative, alternative) = Alternative::kTwoSided;
  // Of the results. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
};

// Kendall's rank correlation coefficient tau.
//
// update()   see RankCorrelation::update().
// compute()  [] for one output, [num_outputs] otherwise, of the option's dtype, in [-1, 1]. NaN
//            where it is not defined: fewer than two samples, NaN among the inputs, for kB and kC
//            a constant input.
// p_value()  the same shape: from the normal approximation of C - D with ties, as
//            scipy.stats.kendalltau has it with method "asymptotic".
//
// The discordant pairs are the inversions of the targets in the order of the predictions (Knight
// 1966, JASA 61:436), counted level by level of a merge sort, all blocks of a level at once,
// exactly in int64: O(N log^2 N) work in O(log N) operators. TorchMetrics compares all pairs, N^2.
// It has p_value() as the option t_test of compute(), without ties for kA, and relates kA to the
// pairs that are not tied, C + D, which is Goodman and Kruskal's gamma; without ties they are
// equal.
class KendallRankCorrCoef : public RankCorrelation {
public:
  explicit KendallRankCorrCoef(const KendallRankCorrCoefOptions &options = {});
  DEVSAN_METRIC(KendallRankCorrCoef)
  at::Tensor compute() const override;
  at::Tensor p_value() const;

protected:
  std::string signature() const override;

private:
  // Numbers of pairs, int64 [num_outputs].
  struct Pairs {
    Places x, y;
    at::Tensor tied_x, tied_y;
    at::Tensor surplus; // concordant less discordant
  };
  Pairs pairs(const All &inputs) const;

  KendallRankCorrCoefOptions options_;
};

DEVSAN_FUNCTION(KendallRankCorrCoef, kendall_rank_corrcoef)

} // namespace devsan::metrics
