#include "metrics/regression/divergence.h"

#include <ATen/ATen.h>

#include "metrics/regression/distributions.h"

namespace devsan::metrics {

Divergence::Divergence(const DivergenceOptions &options)
    : SampleSums({.sums = {"measures"},
                  .samples = Samples::kRows,
                  .rows = "Expected both p and q distribution to be 2D",
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation(),
                  .domain = options.log_prob() ? std::nullopt
                                               : std::optional(Domain{detail::kDistributions,
                                                                      options.validate()})}),
      log_prob_(options.log_prob()), reduction_(options.reduction()) {}

at::Tensor Divergence::outside_domain(const at::Tensor &preds, const at::Tensor &target) const {
  return detail::no_distribution(preds).bitwise_or(detail::no_distribution(target));
}

at::Tensor Divergence::value() const {
  return reduction_ == Reduction::kSum ? sum() : mean();
}

std::string Divergence::signature() const {
  return SampleSums::signature() + (log_prob_ ? ", log_prob=true" : ", log_prob=false") +
         (reduction_ == Reduction::kSum ? ", reduction=sum" : ", reduction=mean");
}

} // namespace devsan::metrics
