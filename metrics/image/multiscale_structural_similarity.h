#pragma once

#include "metrics/image/image_similarity.h"

namespace devsan::metrics {

// What becomes of the values of the scales before they are weighted: powers of negative ones are
// not defined.
enum class ScaleNormalize {
  kNone,
  kRelu,   // negative ones are 0
  kSimple, // (1 + x) / 2
};

class MultiScaleStructuralSimilarityIndexMeasureOptions
    : public SimilarityOptions<MultiScaleStructuralSimilarityIndexMeasureOptions> {
public:
  // The exponents of the scales, from the images' own size on.
  TORCH_ARG(std::vector<double>, betas) = { 0.0448, 0.2856, 0.3001, 0.2363, 0.1333 };
  TORCH_ARG(ScaleNormalize, normalize) = ScaleNormalize::kRelu;
};

// Multi-scale structural similarity: the product over the scales, each half as large as the one
// before, of the contrast's part of the similarity, at the last scale of all of it, to the power of
// `betas` (Wang, Simoncelli and Bovik, Multi-Scale Structural Similarity for Image Quality
// Assessment, 2003); mean over the images.
//
// update(), compute()  see ImageSimilarity; the last two dimensions of an image are at least
//                      2^scales and kernel_size (scales - 1)^2, as in TorchMetrics.
class MultiScaleStructuralSimilarityIndexMeasure : public ImageSimilarity {
public:
  explicit MultiScaleStructuralSimilarityIndexMeasure(
      const MultiScaleStructuralSimilarityIndexMeasureOptions &options = {});
  DEVSAN_METRIC(MultiScaleStructuralSimilarityIndexMeasure)

protected:
  void check_sizes(at::IntArrayRef image) const override;
  Values values(const at::Tensor &preds, const at::Tensor &target) const override;
  std::string signature() const override;

private:
  std::vector<double> betas_;
  ScaleNormalize normalize_;
};

// The functional form.
at::Tensor multiscale_structural_similarity_index_measure(
    const at::Tensor &preds, const at::Tensor &target,
    const MultiScaleStructuralSimilarityIndexMeasureOptions &options = {});

} // namespace devsan::metrics
