#include "metrics/regression/jensen_shannon_divergence.h"

#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"
#include "metrics/regression/distributions.h"

namespace devsan::metrics {

JensenShannonDivergence::JensenShannonDivergence(const JensenShannonDivergenceOptions &options)
    : SampleSums({.sums = {"measures"},
                  .samples = Samples::kRows,
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation(),
                  .domain = options.log_prob() ? std::nullopt
                                               : std::optional(Domain{detail::kDistributions,
                                                                      options.validate()})}),
      log_prob_(options.log_prob()), reduction_(options.reduction()) {}

std::vector<at::Tensor> JensenShannonDivergence::terms(const at::Tensor &preds,
                                                       const at::Tensor &target) const {
  if (log_prob_) {
    const at::Tensor middle = at::logaddexp(preds, target) - std::log(2.);
    return {0.5 * (detail::relative_entropy_of_logs(preds, middle) +
                   detail::relative_entropy_of_logs(target, middle))};
  }
  const at::Tensor p = detail::normalised(preds), q = detail::normalised(target);
  const at::Tensor middle = (p + q) / 2;
  return {0.5 * (detail::relative_entropy(p, middle) + detail::relative_entropy(q, middle))};
}

at::Tensor JensenShannonDivergence::outside_domain(const at::Tensor &preds,
                                                   const at::Tensor &target) const {
  return detail::no_distribution(preds).bitwise_or(detail::no_distribution(target));
}

at::Tensor JensenShannonDivergence::value() const {
  return reduction_ == Reduction::kSum ? sum() : mean();
}

std::string JensenShannonDivergence::signature() const {
  return SampleSums::signature() + (log_prob_ ? ", log_prob=true" : ", log_prob=false") +
         (reduction_ == Reduction::kSum ? ", reduction=sum" : ", reduction=mean");
}

at::Tensor jensen_shannon_divergence(const at::Tensor &preds, const at::Tensor &target,
                                     const JensenShannonDivergenceOptions &options) {
  return detail::evaluate<JensenShannonDivergence>(options, preds, target);
}

} // namespace devsan::metrics
