#include "metrics/image/multiscale_structural_similarity.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "metrics/detail/evaluate.h"

namespace devsan::metrics {

MultiScaleStructuralSimilarityIndexMeasure::MultiScaleStructuralSimilarityIndexMeasure(
    const MultiScaleStructuralSimilarityIndexMeasureOptions &options)
    : ImageSimilarity("MultiScaleStructuralSimilarityIndexMeasure", SimilarityConfig(options)),
      betas_(options.betas()), normalize_(options.normalize()) {
  TORCH_CHECK(!betas_.empty() && betas_.size() < 32, name(), ": betas holds ", betas_.size(),
              " exponents; pass one for each scale");
  for (const double beta : betas_)
    TORCH_CHECK(std::isfinite(beta), name(), ": betas holds ", beta, "; pass finite numbers");
}

void MultiScaleStructuralSimilarityIndexMeasure::check_sizes(at::IntArrayRef image) const {
  const auto scales = static_cast<int64_t>(betas_.size());
  const int64_t steps = std::max<int64_t>(scales - 1, 1);
  for (size_t i = 0; i < 2; ++i) {
    const auto &kernel_size = config().kernel_size;
    const int64_t kernel = kernel_size[kernel_size.size() == 1 ? 0 : i];
    const int64_t least = std::max(int64_t{1} << scales, kernel * steps * steps);
    const int64_t size = image[image.size() - 2 + i];
    TORCH_CHECK(size >= least, name(), ": `preds` holds images of sizes ", image, ", but ", scales,
                " scales and a kernel_size of ", kernel, " need at least ", least,
                "; pass larger images, or fewer betas");
  }
  // The smallest scale.
  std::vector<int64_t> smallest = image.vec();
  for (int64_t scale = 1; scale < scales; ++scale)
    for (int64_t &size : smallest)
      size /= 2;
  ImageSimilarity::check_sizes(smallest);
}

ImageSimilarity::Values
MultiScaleStructuralSimilarityIndexMeasure::values(const at::Tensor &all_preds,
                                                   const at::Tensor &all_target) const {
  at::Tensor preds = all_preds, target = all_target, product;
  const auto halved = [](const at::Tensor &x) {
    return x.dim() == 4 ? at::avg_pool2d(x, {2, 2}) : at::avg_pool3d(x, {2, 2, 2});
  };
  for (size_t scale = 0; scale < betas_.size(); ++scale) {
    const bool last = scale + 1 == betas_.size();
    const Similarity all = similarity_of(config(), preds, target, SimilarityPart::kContrast);
    at::Tensor value = last ? all.similarity : all.contrast;
    if (normalize_ == ScaleNormalize::kRelu)
      value = value.clamp_min(0);
    if (normalize_ == ScaleNormalize::kSimple)
      value = (value + 1) / 2;
    value = value.pow(betas_[scale]);
    product = product.defined() ? product * value : value;
    if (!last) {
      preds = halved(preds);
      target = halved(target);
    }
  }
  return {product, {}};
}

std::string MultiScaleStructuralSimilarityIndexMeasure::signature() const {
  std::string text = ImageSimilarity::signature() + ", betas=";
  for (const double beta : betas_)
    text += detail::exact_text(beta) + " ";
  return text + "normalize=" + std::to_string(static_cast<int>(normalize_));
}

at::Tensor multiscale_structural_similarity_index_measure(
    const at::Tensor &preds, const at::Tensor &target,
    const MultiScaleStructuralSimilarityIndexMeasureOptions &options) {
  return detail::evaluate<MultiScaleStructuralSimilarityIndexMeasure>(options, preds, target);
}

} // namespace devsan::metrics
