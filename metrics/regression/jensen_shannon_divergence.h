#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/reduction.h"
#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct JensenShannonDivergenceOptions {
  // Whether the inputs are logarithms of probabilities; these are taken as they are, while
  // probabilities are first divided by their sum.
  TORCH_ARG(bool, log_prob) = false;
  TORCH_ARG(Reduction, reduction) = Reduction::kMean;
  // When samples outside the domain are noticed.
  TORCH_ARG(Validate, validate) = Validate::kAuto;
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
};

// Jensen-Shannon divergence of the distributions p (`preds`) and q (`target`), (KL(p, m) + KL(q,
// m)) / 2 with m = (p + q) / 2, in nats, in [0, log 2]; mean or sum over the samples. It is the
// square of scipy.spatial.distance.jensenshannon.
//
// update()   per row, [N, D] (logarithms of) probabilities; see SampleSums::update().
// compute()  see SampleSums::compute(); the sum over no samples is 0.
class JensenShannonDivergence : public SampleSums {
public:
  explicit JensenShannonDivergence(const JensenShannonDivergenceOptions &options = {});
  std::string name() const override { return "JensenShannonDivergence"; }

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  at::Tensor outside_domain(const at::Tensor &preds, const at::Tensor &target) const override;
  at::Tensor value() const override;
  std::string signature() const override;

private:
  bool log_prob_;
  Reduction reduction_;
};

// The functional form.
at::Tensor jensen_shannon_divergence(const at::Tensor &preds, const at::Tensor &target,
                                     const JensenShannonDivergenceOptions &options = {});

} // namespace devsan::metrics
