#pragma once

#include "metrics/image/image_similarity.h"

namespace devsan::metrics {

class StructuralSimilarityIndexMeasureOptions
    : public SimilarityOptions<StructuralSimilarityIndexMeasureOptions> {
public:
  // Keep the similarity at each pixel, or the contrast's part of it of each image; not both. See
  // result().
  TORCH_ARG(bool, return_full_image) = false;
  TORCH_ARG(bool, return_contrast_sensitivity) = false;
};

// Structural similarity of two images: of their means, variances and covariance in a window around
// each pixel (Wang et al., Image Quality Assessment: From Error Visibility to Structural
// Similarity, 2004); mean over an image, continued by reflection, then over the images.
//
// update(), compute()  see ImageSimilarity; images larger than half the window.
class StructuralSimilarityIndexMeasure : public ImageSimilarity {
public:
  explicit StructuralSimilarityIndexMeasure(
      const StructuralSimilarityIndexMeasureOptions &options = {});
  DEVSAN_METRIC(StructuralSimilarityIndexMeasure)

  struct Result {
    at::Tensor similarity;
    at::Tensor part; // of all images: of the inputs' shape, or [images]; undefined if not kept
  };
  Result result() const;

protected:
  Values values(const at::Tensor &preds, const at::Tensor &target) const override;
  std::string signature() const override;

private:
  SimilarityPart part_;
};

// The functional form.
at::Tensor
structural_similarity_index_measure(const at::Tensor &preds, const at::Tensor &target,
                                    const StructuralSimilarityIndexMeasureOptions &options = {});

} // namespace devsan::metrics
