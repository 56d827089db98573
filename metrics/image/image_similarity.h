// What the structural similarities share: options, the window around each pixel, the similarity of
// two images by it, and what is kept of many images.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <torch/arg.h>

#include "metrics/image/image_options.h"
#include "metrics/metric.h"
#include "metrics/result_options.h"

namespace devsan::metrics {

template <class Self> class SimilarityOptions : public ResultOptionsOf<Self> {
  // The window is a Gaussian, cut off at 3.5 sigma, otherwise uniform of kernel_size.
  DEVSAN_SHARED_ARG(bool, gaussian_kernel) = true;
  // Of the Gaussian: one for all dimensions of an image, or one for each.
  DEVSAN_SHARED_ARG(std::vector<double>, sigma) = { 1.5 };
  // Of the uniform window, odd: one for all dimensions of an image, or one for each.
  DEVSAN_SHARED_ARG(std::vector<int64_t>, kernel_size) = { 11 };
  DEVSAN_SHARED_ARG(ImageReduction, reduction) = ImageReduction::kElementwiseMean;
  // Of the values; none: the largest difference in the batch, in preds or in target.
  DEVSAN_SHARED_ARG(std::optional<DataRange>, data_range) = std::nullopt;
  DEVSAN_SHARED_ARG(double, k1) = 0.01;
  DEVSAN_SHARED_ARG(double, k2) = 0.03;
};

struct SimilarityConfig {
  template <class Options>
  explicit SimilarityConfig(const Options &options)
      : gaussian_kernel(options.gaussian_kernel()), sigma(options.sigma()),
        kernel_size(options.kernel_size()), reduction(options.reduction()),
        data_range(options.data_range()), k1(options.k1()), k2(options.k2()),
        dtype(options.dtype()), accumulation(options.accumulation()) {}

  // Throws for what no metric of `name` can be made of.
  void check(const std::string &name) const;
  std::string signature() const;

  // How many pixels of dimension `dim` the window has on each side of its centre.
  int64_t reach(int64_t dim) const;
  // The weights of the window along each of `dims` dimensions, of sum 1.
  std::vector<std::vector<double>> window(int64_t dims) const;

  bool gaussian_kernel;
  std::vector<double> sigma;
  std::vector<int64_t> kernel_size;
  ImageReduction reduction;
  std::optional<DataRange> data_range;
  double k1, k2;
  at::ScalarType dtype;
  std::optional<Accumulation> accumulation;
};

// Of each image.
struct Similarity {
  at::Tensor similarity; // [N]: mean over the image, continued by reflection
  at::Tensor contrast;   // [N]: of the contrast's part alone, where the window is inside the image
  at::Tensor image;      // of the inputs' shape: the similarity itself
};
enum class SimilarityPart { kNone, kContrast, kImage };

// preds and target [N, C, H, W] or [N, C, D, H, W] of one dtype, float32 or float64, each larger
// than half the window. Computes what is asked for besides the similarity. On the CPU two-
// dimensional images are gone through once, plane by plane on several threads, without the maps of
// means and variances in memory; otherwise the window is applied by a convolution along each
// dimension.
Similarity similarity_of(const SimilarityConfig &config, const at::Tensor &preds,
                         const at::Tensor &target, SimilarityPart besides);

// update()   preds, target: real tensors of one shape, [N, C, H, W] or [N, C, D, H, W], of any
//            dtypes but bool; computed in float32, or float64 if one of them is. N may be 0.
// compute()  [], of the option's dtype, NaN where there were no images; for ImageReduction::kNone
//            [images].
//
// States: the number of images and the sum of their values; for ImageReduction::kNone the list.
class ImageSimilarity : public SupervisedMetric {
public:
  void update(const at::Tensor &preds, const at::Tensor &target) final;
  at::Tensor compute() const final;

protected:
  // With `keeps_parts`, the second parts of values() are kept in a list of their own.
  ImageSimilarity(const char *name, const SimilarityConfig &config, bool keeps_parts = false);

  const SimilarityConfig &config() const { return config_; }

  // Throws for images of sizes that are too small, in each of their dimensions.
  virtual void check_sizes(at::IntArrayRef image) const;
  // The value of each image, [N], and what else is kept.
  struct Values {
    at::Tensor similarity, part;
  };
  virtual Values values(const at::Tensor &preds, const at::Tensor &target) const = 0;
  // For result(): what else was kept, of all images.
  at::Tensor parts() const;

  std::string signature() const override { return config_.signature(); }

private:
  SimilarityConfig config_;
  bool keeps_parts_;
};

} // namespace devsan::metrics
