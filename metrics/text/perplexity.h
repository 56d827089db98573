#pragma once

#include "metrics/classification/sample_loss.h"
#include "metrics/detail/evaluate.h"
#include "metrics/result_options.h"

namespace devsan::metrics {

struct PerplexityOptions : ResultOptionsOf<PerplexityOptions> {
  PerplexityOptions(std::optional<int64_t> ignore_index = std::nullopt)
      : ignore_index_(ignore_index) {}
  // Tokens with this target are left out; need not be in the vocabulary.
  TORCH_ARG(std::optional<int64_t>, ignore_index);
  TORCH_ARG(Validate, validate) = Validate::kAuto;
};

// Perplexity of a language model: e to the mean over the tokens of minus the natural logarithm of
// the target's probability.
//
// update()   preds [N, T, C] floating logits, target [N, T] integer; see SampleLoss, also of
//            weights. Each update may have another vocabulary C.
// compute()  [], of the option's dtype; see SampleLoss.
class Perplexity final : public SampleLoss {
public:
  explicit Perplexity(const PerplexityOptions &options = {});
  std::unique_ptr<Metric> clone() const override { return std::make_unique<Perplexity>(*this); }

protected:
  void check_shapes(const at::Tensor &preds, const at::Tensor &target) const override;
  at::Tensor rows(const at::Tensor &preds) const override;
  at::Tensor scores(const at::Tensor &rows) const override;
  at::Tensor losses(const at::Tensor &scores, const at::Tensor &target) const override;
  void add(const detail::ScoreRows<float> &rows, const double *weight,
           LossSums &sums) const override;
  void add(const detail::ScoreRows<double> &rows, const double *weight,
           LossSums &sums) const override;
  at::Tensor value(const at::Tensor &reduced) const override;
};

DEVSAN_WEIGHTED_FUNCTION(Perplexity, perplexity)

} // namespace devsan::metrics
