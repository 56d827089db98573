// What the divergences of two distributions share: the options, the domain, the reduction. A metric
// writes only its term.
#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/reduction.h"
#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct DivergenceOptions : ResultOptionsOf<DivergenceOptions> {
  // Whether the inputs are logarithms of probabilities; these are taken as they are, while
  // probabilities are first divided by their sum.
  TORCH_ARG(bool, log_prob) = false;
  TORCH_ARG(Reduction, reduction) = Reduction::kMean;
  // When samples outside the domain are noticed.
  TORCH_ARG(Validate, validate) = Validate::kAuto;
};

class Divergence : public SampleSums {
protected:
  explicit Divergence(const DivergenceOptions &options);

  bool log_prob() const { return log_prob_; }
  at::Tensor outside_domain(const at::Tensor &preds, const at::Tensor &target) const override;
  at::Tensor value() const override;
  std::string signature() const override;

private:
  bool log_prob_;
  Reduction reduction_;
};

} // namespace devsan::metrics
