#include "metrics/regression/kl_divergence.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/regression/distributions.h"

namespace devsan::metrics {

KLDivergence::KLDivergence(const KLDivergenceOptions &options)
    : SampleSums({.sums = {"measures"},
                  .samples = Samples::kRows,
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation(),
                  .domain = options.log_prob() ? std::nullopt
                                               : std::optional(Domain{detail::kDistributions,
                                                                      options.validate()})}),
      log_prob_(options.log_prob()), reduction_(options.reduction()) {}

std::vector<at::Tensor> KLDivergence::terms(const at::Tensor &preds,
                                            const at::Tensor &target) const {
  if (log_prob_)
    return {detail::relative_entropy_of_logs(preds, target)};
  return {detail::relative_entropy(detail::normalised(preds), detail::normalised(target))};
}

at::Tensor KLDivergence::outside_domain(const at::Tensor &preds, const at::Tensor &target) const {
  return detail::no_distribution(preds).bitwise_or(detail::no_distribution(target));
}

at::Tensor KLDivergence::value() const {
  return reduction_ == Reduction::kSum ? sum() : mean();
}

std::string KLDivergence::signature() const {
  return SampleSums::signature() + (log_prob_ ? ", log_prob=true" : ", log_prob=false") +
         (reduction_ == Reduction::kSum ? ", reduction=sum" : ", reduction=mean");
}

at::Tensor kl_divergence(const at::Tensor &preds, const at::Tensor &target,
                         const KLDivergenceOptions &options) {
  return detail::evaluate<KLDivergence>(options, preds, target);
}

} // namespace devsan::metrics
