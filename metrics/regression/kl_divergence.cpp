#include "metrics/regression/kl_divergence.h"

#include <ATen/ATen.h>

#include "metrics/regression/distributions.h"
#include "metrics/regression/distributions_fused.h"

namespace devsan::metrics {

KLDivergence::KLDivergence(const KLDivergenceOptions &options) : Divergence(options) {}

std::vector<at::Tensor> KLDivergence::terms(const at::Tensor &preds,
                                            const at::Tensor &target) const {
  if (log_prob())
    return {detail::relative_entropy_of_logs(preds, target)};
  return {detail::relative_entropy(detail::normalised(preds), detail::normalised(target))};
}

std::optional<std::vector<double>> KLDivergence::fused(const at::Tensor &preds,
                                                       const at::Tensor &target) const {
  using detail::Lanes;
  if (log_prob())
    return detail::fused_log_distributions(
        preds, target, [](const Lanes &p, const Lanes &q, detail::LaneSums<1> &sums) {
          sums[0] += detail::relative_entropy_term_of_logs(p, q);
        });
  return detail::fused_distributions(preds, target,
                                     [](const Lanes &p, const Lanes &q, detail::LaneSums<1> &sums) {
                                       sums[0] += detail::relative_entropy_term(p, q, p - q);
                                     });
}

} // namespace devsan::metrics
