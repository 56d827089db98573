#pragma once

#include "metrics/classification/sample_loss.h"

namespace devsan::metrics {

struct PerplexityOptions {
  PerplexityOptions(std::optional<int64_t> ignore_index = std::nullopt)
      : ignore_index_(ignore_index) {}
  // Tokens with this target are left out; need not be in the vocabulary.
  TORCH_ARG(std::optional<int64_t>, ignore_index);
  TORCH_ARG(Validate, validate) = Validate::kAuto;
  // Of the result. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
  // Of the states; by default what suits the device, see default_accumulation().
  TORCH_ARG(std::optional<Accumulation>, accumulation) = std::nullopt;
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

// The functional form.
at::Tensor perplexity(const at::Tensor &preds, const at::Tensor &target,
                      const PerplexityOptions &options = {}, const at::Tensor &weight = {});

} // namespace devsan::metrics
