#pragma once

#include <torch/arg.h>

#include "metrics/regression/rank_correlation.h"

namespace devsan::metrics {

struct SpearmanCorrCoefOptions {
  SpearmanCorrCoefOptions(int64_t num_outputs = 1) : num_outputs_(num_outputs) {}
  // Columns of the inputs, each correlated on its own.
  TORCH_ARG(int64_t, num_outputs);
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
};

// Spearman's rank correlation coefficient: Pearson's of the ranks, of which equal numbers share the
// mean.
//
// update()   see RankCorrelation::update().
// compute()  [] for one output, [num_outputs] otherwise, of the option's dtype, in [-1, 1]. NaN
//            where it is not defined (fewer than two samples, a constant input, NaN among the
//            inputs), as in scipy.stats.spearmanr; TorchMetrics gives 0 for a constant, and is
//            smaller by up to 1e-6 otherwise. Sorts all samples: O(N log N).
class SpearmanCorrCoef : public RankCorrelation {
public:
  explicit SpearmanCorrCoef(const SpearmanCorrCoefOptions &options = {});
  DEVSAN_METRIC(SpearmanCorrCoef)
  at::Tensor compute() const override;
};

DEVSAN_FUNCTION(SpearmanCorrCoef, spearman_corrcoef)

} // namespace devsan::metrics
