#pragma once

#include "metrics/regression/divergence.h"

namespace devsan::metrics {

using KLDivergenceOptions = DivergenceOptions;

// Kullback-Leibler divergence of the distributions p (`preds`) from q (`target`), sum p log(p / q)
// in nats; mean or sum over the samples. An outcome that p excludes adds 0; one that only q
// excludes makes the result infinite.
//
// update()   per row, [N, D] (logarithms of) probabilities; see SampleSums::update().
// compute()  see SampleSums::compute(); the sum over no samples is 0.
class KLDivergence : public Divergence {
public:
  explicit KLDivergence(const KLDivergenceOptions &options = {});
  DEVSAN_METRIC(KLDivergence)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
};

DEVSAN_WEIGHTED_FUNCTION(KLDivergence, kl_divergence)

} // namespace devsan::metrics
