#include "metrics/regression/kl_divergence.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/regression/distributions.h"

namespace devsan::metrics {

KLDivergence::KLDivergence(const KLDivergenceOptions &options) : Divergence(options) {}

std::vector<at::Tensor> KLDivergence::terms(const at::Tensor &preds,
                                            const at::Tensor &target) const {
  if (log_prob())
    return {detail::relative_entropy_of_logs(preds, target)};
  return {detail::relative_entropy(detail::normalised(preds), detail::normalised(target))};
}

at::Tensor kl_divergence(const at::Tensor &preds, const at::Tensor &target,
                         const KLDivergenceOptions &options) {
  return detail::evaluate<KLDivergence>(options, preds, target);
}

} // namespace devsan::metrics
