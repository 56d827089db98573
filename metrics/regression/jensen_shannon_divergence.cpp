#include "metrics/regression/jensen_shannon_divergence.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/regression/distributions.h"
#include "metrics/regression/distributions_fused.h"

namespace devsan::metrics {

JensenShannonDivergence::JensenShannonDivergence(const JensenShannonDivergenceOptions &options)
    : Divergence(options) {}

std::vector<at::Tensor> JensenShannonDivergence::terms(const at::Tensor &preds,
                                                       const at::Tensor &target) const {
  if (log_prob()) {
    const at::Tensor middle = at::logaddexp(preds, target) - std::log(2.);
    return {0.5 * (detail::relative_entropy_of_logs(preds, middle) +
                   detail::relative_entropy_of_logs(target, middle))};
  }
  const at::Tensor p = detail::normalised(preds), q = detail::normalised(target);
  const at::Tensor middle = (p + q) / 2;
  return {0.5 * (detail::relative_entropy(p, middle) + detail::relative_entropy(q, middle))};
}

std::optional<std::vector<double>> JensenShannonDivergence::fused(const at::Tensor &preds,
                                                                  const at::Tensor &target) const {
  using detail::Lanes;
  if (log_prob())
    return detail::fused_log_distributions(
        preds, target, [](const Lanes &p, const Lanes &q, detail::LaneSums<1> &sums) {
          sums[0] += detail::divergence_term_of_logs(p, q);
        });
  return detail::fused_distributions(
      preds, target, [](const Lanes &p, const Lanes &q, detail::LaneSums<1> &sums) {
        const Lanes middle = (p + q) * 0.5, half = (p - q) * 0.5;
        sums[0] += 0.5 * (detail::relative_entropy_term(p, middle, half) +
                          detail::relative_entropy_term(q, middle, 0 - half));
      });
}

} // namespace devsan::metrics
