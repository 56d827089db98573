#include "metrics/regression/cosine_similarity.h"

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"

namespace devsan::metrics {

CosineSimilarity::CosineSimilarity(const CosineSimilarityOptions &options)
    : SampleSums({.sums = {"sum_similarity"},
                  .samples = Samples::kRows,
                  .dtype = options.dtype(),
                  .accumulation = options.accumulation()}),
      reduction_(options.reduction()) {}

std::vector<at::Tensor> CosineSimilarity::terms(const at::Tensor &preds,
                                                const at::Tensor &target) const {
  const auto norm = [](const at::Tensor &x) { return at::linalg_vector_norm(x, 2, {1}, true); };
  return {(preds * target).sum(1, /*keepdim=*/true) / (norm(preds) * norm(target))};
}

at::Tensor CosineSimilarity::value() const {
  return reduction_ == Reduction::kSum ? sum() : mean();
}

std::string CosineSimilarity::signature() const {
  return SampleSums::signature() +
         (reduction_ == Reduction::kSum ? ", reduction=sum" : ", reduction=mean");
}

at::Tensor cosine_similarity(const at::Tensor &preds, const at::Tensor &target,
                             const CosineSimilarityOptions &options) {
  return detail::evaluate<CosineSimilarity>(options, preds, target);
}

} // namespace devsan::metrics
