#pragma once

#include <optional>

#include <torch/arg.h>

#include "metrics/regression/reduction.h"
#include "metrics/regression/sample_sums.h"

namespace devsan::metrics {

struct CosineSimilarityOptions : ResultOptionsOf<CosineSimilarityOptions> {
  TORCH_ARG(Reduction, reduction) = Reduction::kSum;
};

// Sum or mean over the samples of <preds, target> / (|preds| |target|); NaN where a vector is zero.
//
// update()   per row: [N, D], N vectors; see SampleSums::update().
// compute()  see SampleSums::compute(); the sum over no samples is 0.
//
// TorchMetrics keeps all inputs and sums at the end; here a sum is kept.
class CosineSimilarity : public SampleSums {
public:
  explicit CosineSimilarity(const CosineSimilarityOptions &options = {});
  DEVSAN_METRIC(CosineSimilarity)

protected:
  std::vector<at::Tensor> terms(const at::Tensor &preds, const at::Tensor &target) const override;
  std::optional<std::vector<double>> fused(const at::Tensor &preds,
                                           const at::Tensor &target) const override;
  at::Tensor value() const override;
  std::string signature() const override;

private:
  Reduction reduction_;
};

// The functional form. Without options it is called by its qualified name, as ATen has a
// cosine_similarity() of two tensors, too, which has a value for each row.
DEVSAN_WEIGHTED_FUNCTION(CosineSimilarity, cosine_similarity)

} // namespace devsan::metrics
