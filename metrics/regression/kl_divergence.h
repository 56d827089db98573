#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/reduction.h"
#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct KLDivergenceOptions {
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

// Kullback-Leibler divergence of the distributions p (`preds`) from q (`target`), sum p log(p / q)
// in nats; mean or sum over the samples. An outcome that p excludes adds 0; one that only q
// excludes makes the result infinite.
//
// update()   per row, [N, D] (logarithms of) probabilities; see SampleSums::update().
// compute()  see SampleSums::compute(); the sum over no samples is 0.
class KLDivergence : public SampleSums {
public:
  explicit KLDivergence(const KLDivergenceOptions &options = {});
  std::string name() const override { return "KLDivergence"; }

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
at::Tensor kl_divergence(const at::Tensor &preds, const at::Tensor &target,
                         const KLDivergenceOptions &options = {});

} // namespace devsan::metrics
