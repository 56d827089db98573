#include "metrics/image/structural_similarity.h"

#include "metrics/detail/evaluate.h"

namespace devsan::metrics {
namespace {

SimilarityPart part_of(const StructuralSimilarityIndexMeasureOptions &options) {
  return options.return_full_image()             ? SimilarityPart::kImage
         : options.return_contrast_sensitivity() ? SimilarityPart::kContrast
                                                 : SimilarityPart::kNone;
}

} // namespace

StructuralSimilarityIndexMeasure::StructuralSimilarityIndexMeasure(
    const StructuralSimilarityIndexMeasureOptions &options)
    : ImageSimilarity("StructuralSimilarityIndexMeasure", SimilarityConfig(options),
                      part_of(options) != SimilarityPart::kNone),
      part_(part_of(options)) {
  TORCH_CHECK(!options.return_full_image() || !options.return_contrast_sensitivity(), name(),
              ": return_full_image and return_contrast_sensitivity are both true; pass one");
}

ImageSimilarity::Values StructuralSimilarityIndexMeasure::values(const at::Tensor &preds,
                                                                 const at::Tensor &target) const {
  const Similarity all = similarity_of(config(), preds, target, part_);
  return {all.similarity, part_ == SimilarityPart::kImage ? all.image : all.contrast};
}

StructuralSimilarityIndexMeasure::Result StructuralSimilarityIndexMeasure::result() const {
  return {compute(), part_ == SimilarityPart::kNone ? at::Tensor() : parts()};
}

std::string StructuralSimilarityIndexMeasure::signature() const {
  return ImageSimilarity::signature() + ", part=" + std::to_string(static_cast<int>(part_));
}

at::Tensor
structural_similarity_index_measure(const at::Tensor &preds, const at::Tensor &target,
                                    const StructuralSimilarityIndexMeasureOptions &options) {
  return detail::evaluate<StructuralSimilarityIndexMeasure>(options, preds, target);
}

} // namespace devsan::metrics
