#pragma once

#include "metrics/regression/divergence.h"

namespace devsan::metrics {

using JensenShannonDivergenceOptions = DivergenceOptions;

// Jensen-Shannon divergence of the distributions p (`preds`) and q (`target`), (KL(p, m) + KL(q,
// m)) / 2 with m = (p + q) / 2, in nats, in [0, log 2]; mean or sum over the samples. It is the
// square of scipy.spatial.distance.jensenshannon.
//
// update()   per row, [N, D] (logarithms of) probabilities; see SampleSums::update().
// compute()  see SampleSums::compute(); the sum over no samples is 0.
class JensenShannonDivergence : public Divergence {
public:
  explicit JensenShannonDivergence(const JensenShannonDivergenceOptions &options = {});
  DEVSAN_METRIC(JensenShannonDivergence)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
};

DEVSAN_WEIGHTED_FUNCTION(JensenShannonDivergence, jensen_shannon_divergence)

} // namespace devsan::metrics
