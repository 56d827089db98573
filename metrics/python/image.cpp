// The metrics of images: a line for each, with what its options do not say.

#include "metrics/python/binding.h"

#include "metrics/image/frechet_inception_distance.h"
#include "metrics/image/multiscale_structural_similarity.h"
#include "metrics/image/peak_signal_noise_ratio.h"
#include "metrics/image/structural_similarity.h"

namespace devsan::metrics::python {

template <> struct Fields<StructuralSimilarityIndexMeasure::Result> {
  using Result = StructuralSimilarityIndexMeasure::Result;
  static inline const std::vector<std::pair<const char *, at::Tensor Result::*>> kAll = {
      {"similarity", &Result::similarity}, {"part", &Result::part}};
};

// update(features, real).
template <> void update<FrechetInceptionDistance>(Handle &handle, PyObject *const *inputs) {
  const at::Tensor features = tensor_input(handle.kind(), 0, inputs[0]);
  const bool real =
      Conversion<bool>::from(Place{handle.kind().name, handle.kind().about.inputs[1]}, inputs[1]);
  handle.update<FrechetInceptionDistance>(
      [&](FrechetInceptionDistance &metric) { metric.update(features, real); });
}

#define DEVSAN_BIND(Class, function, ...)                                                          \
  bind<Class, Class##Options>("image", #Class, #function, About __VA_ARGS__);

void bind_image() {
  DEVSAN_BIND(
      PeakSignalNoiseRatio, peak_signal_noise_ratio,
      {.summary =
           R"(Peak signal-to-noise ratio, 10 log(range^2 / mean squared error) in decibels: infinite where there is no error.)",
       .higher_is_better = true,
       .lower = {},
       .upper = {}})
  DEVSAN_BIND(
      StructuralSimilarityIndexMeasure, structural_similarity_index_measure,
      {.summary =
           R"(Structural similarity of two images: of their means, variances and covariance in a window around each pixel; mean over an
image, then over the images.

compute(): [], or (similarity, part) with return_full_image or return_contrast_sensitivity.)",
       .higher_is_better = true})
  DEVSAN_BIND(
      MultiScaleStructuralSimilarityIndexMeasure, multiscale_structural_similarity_index_measure,
      {.summary =
           R"(Multi-scale structural similarity: the product over the scales, each half as large as the one before, of the contrast's
part of the similarity, at the last scale of all of it, to the power of `betas`; mean over the images.)",
       .higher_is_better = true})
  DEVSAN_BIND(
      FrechetInceptionDistance, ,
      {.summary =
           R"(Frechet distance of two sets of images by the features that a network has found in them. TorchMetrics' class runs the
network, too; here update() takes its features.

compute(): []. An error for less than two images in a set. Waits for the device, as eigenvalues do.)",
       .higher_is_better = false,
       .inputs = {"features", "real"},
       .upper = {}})
}

} // namespace devsan::metrics::python
