// PSNR and the structural similarities against loops over pixels.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "metrics/image/multiscale_structural_similarity.h"
#include "metrics/image/peak_signal_noise_ratio.h"
#include "metrics/image/structural_similarity.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Vector = std::vector<double>;
using Structural = StructuralSimilarityIndexMeasure;
using StructuralOptions = StructuralSimilarityIndexMeasureOptions;
using Multiscale = MultiScaleStructuralSimilarityIndexMeasure;
using MultiscaleOptions = MultiScaleStructuralSimilarityIndexMeasureOptions;

struct Images {
  at::Tensor preds, target;
  Images part(int64_t start, int64_t length, at::Device device) const {
    return {preds.narrow(0, start, length).to(device), target.narrow(0, start, length).to(device)};
  }
};

Images random_images(at::IntArrayRef sizes, at::ScalarType dtype = at::kDouble) {
  const at::Tensor preds = at::rand(sizes, at::kDouble);
  return {preds.to(dtype), (preds * 0.7 + at::rand(sizes, at::kDouble) * 0.3).to(dtype)};
}

// One image of one channel as numbers, with up to three dimensions.
struct Pixels {
  Vector x, y;
  std::vector<int64_t> sizes;
};

double data_width(const Vector &x, const Vector &y) {
  const auto width = [](const Vector &v) {
    return *std::max_element(v.begin(), v.end()) - *std::min_element(v.begin(), v.end());
  };
  return std::max(width(x), width(y));
}

int64_t reflect(int64_t i, int64_t size) {
  return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
}

// Similarity and contrast at each pixel of a channel, and whether the window is inside.
struct Maps {
  Vector similarity, contrast;
  std::vector<bool> inside;
};

Maps reference_maps(const Pixels &image, const std::vector<Vector> &window, double range) {
  std::vector<int64_t> sizes = image.sizes;
  std::vector<Vector> weights = window;
  while (sizes.size() < 3) {
    sizes.insert(sizes.begin(), 1);
    weights.insert(weights.begin(), Vector{1});
  }
  const double c1 = std::pow(0.01 * range, 2), c2 = std::pow(0.03 * range, 2);
  Maps maps;
  const auto reach = [&](size_t dim) { return static_cast<int64_t>(weights[dim].size()) / 2; };
  for (int64_t a = 0; a < sizes[0]; ++a)
    for (int64_t b = 0; b < sizes[1]; ++b)
      for (int64_t c = 0; c < sizes[2]; ++c) {
        double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
        for (int64_t i = -reach(0); i <= reach(0); ++i)
          for (int64_t j = -reach(1); j <= reach(1); ++j)
            for (int64_t k = -reach(2); k <= reach(2); ++k) {
              const int64_t at =
                  (reflect(a + i, sizes[0]) * sizes[1] + reflect(b + j, sizes[1])) * sizes[2] +
                  reflect(c + k, sizes[2]);
              const double w =
                  weights[0][i + reach(0)] * weights[1][j + reach(1)] * weights[2][k + reach(2)];
              x += w * image.x[at];
              y += w * image.y[at];
              xx += w * image.x[at] * image.x[at];
              yy += w * image.y[at] * image.y[at];
              xy += w * image.x[at] * image.y[at];
            }
        const double contrast = (2 * (xy - x * y) + c2) / (xx - x * x + yy - y * y + c2);
        maps.contrast.push_back(contrast);
        maps.similarity.push_back((2 * x * y + c1) / (x * x + y * y + c1) * contrast);
        const auto within = [&](int64_t i, size_t dim) {
          return i >= reach(dim) && i < sizes[dim] - reach(dim);
        };
        maps.inside.push_back(within(a, 0) && within(b, 1) && within(c, 2));
      }
  return maps;
}

Vector gaussian(double sigma) {
  const int reach = static_cast<int>(3.5 * sigma + 0.5);
  Vector weights;
  double sum = 0;
  for (int k = -reach; k <= reach; ++k)
    sum += weights.emplace_back(std::exp(-k * k / sigma / sigma / 2));
  for (double &weight : weights)
    weight /= sum;
  return weights;
}

// Of each image: the mean similarity, and the mean contrast where the window is inside.
struct Means {
  Vector similarity, contrast, image;
};

Means reference_means(const Images &images, const std::vector<Vector> &window, double range) {
  Means means;
  const int64_t channels = images.preds.size(1);
  for (int64_t i = 0; i < images.preds.size(0); ++i) {
    double similarity = 0, contrast = 0, pixels = 0, inside = 0;
    for (int64_t c = 0; c < channels; ++c) {
      const Maps maps = reference_maps({values(images.preds[i][c]), values(images.target[i][c]),
                                        images.preds.sizes().slice(2).vec()},
                                       window, range);
      for (size_t k = 0; k < maps.similarity.size(); ++k) {
        similarity += maps.similarity[k];
        pixels += 1;
        contrast += maps.inside[k] ? maps.contrast[k] : 0;
        inside += maps.inside[k];
      }
      means.image.insert(means.image.end(), maps.similarity.begin(), maps.similarity.end());
    }
    means.similarity.push_back(similarity / pixels);
    means.contrast.push_back(contrast / inside);
  }
  return means;
}

double mean(const Vector &numbers) {
  double sum = 0;
  for (const double x : numbers)
    sum += x;
  return sum / static_cast<double>(numbers.size());
}

void expect_near(const at::Tensor &result, const Vector &expected, double tolerance) {
  const Vector actual = values(result);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance);
}

class ImageMetrics : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(4); }
};
DEVSAN_DEVICE_SUITE(ImageMetrics);

TEST_P(ImageMetrics, PsnrEqualsItsDefinition) {
  const Images all = random_images({6, 3, 7, 5});
  const Vector x = values(all.preds), y = values(all.target);
  const auto error = [&](size_t from, size_t to, double low, double high) {
    double sum = 0;
    for (size_t i = from; i < to; ++i)
      sum += std::pow(std::clamp(x[i], low, high) - std::clamp(y[i], low, high), 2);
    return sum / static_cast<double>(to - from);
  };
  const auto ratio = [](double width, double mse, double base) {
    return 10 * std::log(width * width / mse) / std::log(base);
  };
  for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair})
    for (const bool clamps : {false, true})
      for (const double base : {10., 2.}) {
        const double tolerance = format == Accumulation::kDouble ? 1e-12 : 1e-4;
        const DataRange range = clamps ? DataRange(0.25, 0.75) : DataRange(2);
        const double low = clamps ? 0.25 : -9, high = clamps ? 0.75 : 9, width = range.width();
        const auto options =
            PeakSignalNoiseRatioOptions(range).base(base).dtype(at::kDouble).accumulation(format);
        PeakSignalNoiseRatio whole(options), other(options);
        std::vector<PeakSignalNoiseRatio> by_image;
        for (const ImageReduction reduction :
             {ImageReduction::kElementwiseMean, ImageReduction::kSum, ImageReduction::kNone})
          by_image.emplace_back(PeakSignalNoiseRatioOptions(options)
                                    .dim(std::vector<int64_t>{1, 2, -1})
                                    .reduction(reduction));
        for (const auto &[start, length] : {std::pair(0, 2), {2, 0}, {2, 4}}) {
          const Images part = all.part(start, length, device());
          (start == 0 ? whole : other).update(part.preds, part.target);
          for (PeakSignalNoiseRatio &metric : by_image)
            metric.update(part.preds, part.target);
        }
        whole.merge(other);
        expect_near(whole.compute(), {ratio(width, error(0, x.size(), low, high), base)},
                    tolerance);
        Vector ratios;
        for (size_t i = 0; i < 6; ++i)
          ratios.push_back(ratio(width, error(i * 105, (i + 1) * 105, low, high), base));
        expect_near(by_image[0].compute(), {mean(ratios)}, tolerance);
        expect_near(by_image[1].compute(), {6 * mean(ratios)}, 6 * tolerance);
        expect_near(by_image[2].compute(), ratios, tolerance);
      }
}

TEST_P(ImageMetrics, PsnrTakesOtherDtypesAndEdges) {
  const auto moved = [&](const at::Tensor &x) { return x.to(device()); };
  const at::Tensor bytes = at::randint(0, 256, {2, 1, 8, 8}, at::kByte),
                   others = at::randint(0, 256, {2, 1, 8, 8}, at::kByte);
  const double mse = mean(values((bytes.to(at::kDouble) - others.to(at::kDouble)).square()));
  const double expected = 10 * std::log10(255 * 255 / mse);
  for (const at::ScalarType dtype : {at::kByte, at::kHalf, at::kBFloat16, at::kInt, at::kFloat}) {
    const at::Tensor x = bytes.to(dtype), y = others.to(dtype);
    const at::Tensor result = peak_signal_noise_ratio(moved(x), moved(y), {255});
    EXPECT_EQ(result.scalar_type(), at::kFloat);
    EXPECT_NEAR(values(result)[0], expected, dtype == at::kBFloat16 ? 0.1 : 1e-4);
  }
  // Columns are not contiguous.
  EXPECT_NEAR(values(peak_signal_noise_ratio(moved(bytes.to(at::kFloat)).transpose(2, 3),
                                             moved(others.to(at::kFloat)).transpose(2, 3), 255))[0],
              expected, 1e-4);
  EXPECT_EQ(values(peak_signal_noise_ratio(moved(bytes), moved(bytes), 255))[0],
            std::numeric_limits<double>::infinity());
  const at::Tensor none = moved(bytes.narrow(0, 0, 0));
  EXPECT_TRUE(std::isnan(values(peak_signal_noise_ratio(none, none, 255))[0]));
  for (const ImageReduction reduction : {ImageReduction::kElementwiseMean, ImageReduction::kNone}) {
    PeakSignalNoiseRatio by_pixel(
        PeakSignalNoiseRatioOptions(255).dim(std::vector<int64_t>{0}).reduction(reduction));
    by_pixel.update(moved(bytes), moved(others));
    const std::vector<double> before = values(by_pixel.compute());
    by_pixel.update(none, none);
    EXPECT_EQ(values(by_pixel.compute()), before);
  }
}

TEST_P(ImageMetrics, SimilarityEqualsItsDefinition) {
  struct Window {
    StructuralOptions options;
    std::vector<Vector> weights;
    std::vector<int64_t> sizes;
  };
  const std::vector<Window> windows = {
      {StructuralOptions(), {gaussian(1.5), gaussian(1.5)}, {5, 2, 23, 19}},
      {StructuralOptions().sigma({0.5, 1}), {gaussian(0.5), gaussian(1)}, {4, 1, 6, 40}},
      {StructuralOptions().gaussian_kernel(false).kernel_size({5, 3}),
       {Vector(5, 0.2), Vector(3, 1. / 3)},
       {4, 3, 9, 17}},
      {StructuralOptions().sigma({0.5}), {3, gaussian(0.5)}, {3, 2, 6, 7, 8}},
  };
  for (const Window &window : windows)
    for (const std::optional<double> range : {std::optional<double>(), {1.5}})
      for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
        const Images all = random_images(window.sizes, dtype);
        const int64_t n = all.preds.size(0);
        auto options = StructuralOptions(window.options)
                           .dtype(at::kDouble)
                           .data_range(range ? std::optional<DataRange>(*range) : std::nullopt);
        Structural average(options),
            sum(StructuralOptions(options).reduction(ImageReduction::kSum)),
            each(StructuralOptions(options)
                     .reduction(ImageReduction::kNone)
                     .return_contrast_sensitivity(true)),
            image(StructuralOptions(options).return_full_image(true));
        Means expected;
        for (const auto &[start, length] :
             {std::pair<int64_t, int64_t>(0, 1), {1, 0}, {1, n - 1}}) {
          const Images part = all.part(start, length, device());
          for (Structural *metric : {&average, &sum, &each, &image})
            metric->update(part.preds, part.target);
          if (length == 0)
            continue;
          const Images own = all.part(start, length, at::kCPU);
          const Means means =
              reference_means(own, window.weights,
                              range.value_or(data_width(values(own.preds), values(own.target))));
          const auto append = [](Vector &to, const Vector &from) {
            to.insert(to.end(), from.begin(), from.end());
          };
          append(expected.similarity, means.similarity);
          append(expected.contrast, means.contrast);
          append(expected.image, means.image);
        }
        const double tolerance = dtype == at::kDouble ? 1e-9 : 1e-4;
        EXPECT_EQ(average.compute().device(), device());
        expect_near(average.compute(), {mean(expected.similarity)}, tolerance);
        expect_near(sum.compute(), {static_cast<double>(n) * mean(expected.similarity)},
                    static_cast<double>(n) * tolerance);
        expect_near(each.compute(), expected.similarity, tolerance);
        expect_near(each.result().part, expected.contrast, tolerance);
        expect_near(image.compute(), {mean(expected.similarity)}, tolerance);
        expect_near(image.result().part, expected.image, 10 * tolerance);
        EXPECT_EQ(image.result().part.sizes(), all.preds.sizes());
        EXPECT_FALSE(average.result().part.defined());
      }
}

TEST_P(ImageMetrics, MultiscaleSimilarityEqualsItsDefinition) {
  const std::vector<Vector> window(2, gaussian(0.5));
  for (const ScaleNormalize normalize :
       {ScaleNormalize::kNone, ScaleNormalize::kRelu, ScaleNormalize::kSimple}) {
    const Images all = random_images({3, 2, 29, 32});
    const auto options = MultiscaleOptions()
                             .sigma({0.5})
                             .kernel_size({3})
                             .betas({0.3, 0.5, 0.2})
                             .normalize(normalize)
                             .data_range(DataRange(0, 1))
                             .dtype(at::kDouble);
    Multiscale metric(options), each(MultiscaleOptions(options).reduction(ImageReduction::kNone));
    for (const auto &[start, length] : {std::pair(0, 1), {1, 2}}) {
      const Images part = all.part(start, length, device());
      metric.update(part.preds, part.target);
      each.update(part.preds, part.target);
    }
    Vector expected(3, 1);
    Images scale = all;
    for (int level = 0; level < 3; ++level) {
      const Means means = reference_means(scale, window, 1);
      for (size_t i = 0; i < 3; ++i) {
        double value = level == 2 ? means.similarity[i] : means.contrast[i];
        value = normalize == ScaleNormalize::kRelu     ? std::max(value, 0.)
                : normalize == ScaleNormalize::kSimple ? (value + 1) / 2
                                                       : value;
        expected[i] *= std::pow(value, std::array{0.3, 0.5, 0.2}[level]);
      }
      scale = {at::avg_pool2d(scale.preds, {2, 2}), at::avg_pool2d(scale.target, {2, 2})};
    }
    expect_near(metric.compute(), {mean(expected)}, 1e-9);
    expect_near(each.compute(), expected, 1e-9);
  }
  // Volumes, too.
  const Images volumes = random_images({2, 1, 16, 20, 20}).part(0, 2, device());
  const at::Tensor same = multiscale_structural_similarity_index_measure(
      volumes.preds, volumes.preds,
      MultiscaleOptions().sigma({0.5}).kernel_size({3}).betas({0.5, 0.5}));
  expect_near(same, {1}, 1e-6);
}

TEST_P(ImageMetrics, SimilarityTakesOtherDtypes) {
  const at::Tensor bytes = at::randint(0, 256, {2, 1, 16, 16}, at::kByte),
                   others = at::randint(0, 256, {2, 1, 16, 16}, at::kByte);
  const Images wide{bytes.to(at::kDouble), others.to(at::kDouble)};
  const double expected = mean(reference_means(wide, {2, gaussian(1.5)}, 255).similarity);
  for (const at::ScalarType dtype : {at::kByte, at::kHalf, at::kInt, at::kFloat}) {
    const at::Tensor result = structural_similarity_index_measure(
        bytes.to(dtype).to(device()), others.to(device()), StructuralOptions().data_range(255));
    EXPECT_EQ(result.scalar_type(), at::kFloat);
    EXPECT_NEAR(values(result)[0], expected, 1e-4);
  }
}

TEST_P(ImageMetrics, MergeAndSyncAsIfSeenByOne) {
  const Images all = random_images({4, 1, 16, 16});
  const Images first = all.part(0, 1, device()), rest = all.part(1, 3, device());
  const auto check = [&](auto make) {
    const auto whole = make(), left = make(), right = make();
    const Images moved = all.part(0, 4, device());
    whole->update(moved.preds, moved.target);
    const Vector expected = values(whole->compute());
    left->update(first.preds, first.target);
    right->update(rest.preds, rest.target);
    left->merge(*right);
    expect_near(left->compute(), expected, 1e-6);
    test::onRanks(3, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
      const auto metric = make();
      if (group->getRank() != 1) {
        const Images &part = group->getRank() == 0 ? first : rest;
        metric->update(part.preds, part.target);
      }
      metric->sync(group);
      expect_near(metric->compute(), expected, 1e-6);
    });
  };
  for (const ImageReduction reduction : {ImageReduction::kElementwiseMean, ImageReduction::kNone}) {
    check([&] {
      return std::make_unique<Structural>(StructuralOptions().reduction(reduction).data_range(1));
    });
    check([&] {
      return std::make_unique<PeakSignalNoiseRatio>(
          PeakSignalNoiseRatioOptions(1).reduction(reduction).dim(std::vector<int64_t>{1, 2, 3}));
    });
  }
}

TEST_P(ImageMetrics, RefuseWrongInputsAndOptions) {
  const Images good = random_images({2, 1, 16, 16}).part(0, 2, device());
  const auto refuses = [&](SupervisedMetric &&metric) {
    metric.update(good.preds, good.target);
    const Vector before = values(metric.compute());
    const std::string name = metric.name();
    EXPECT_ERROR(metric.update(good.preds, good.target.narrow(0, 0, 1)), name, "[2, 1, 16, 16]",
                 "[1, 1, 16, 16]");
    EXPECT_ERROR(metric.update(good.preds.gt(0), good.target), name, "preds", "Bool");
    EXPECT_ERROR(metric.update(good.preds, good.target.to(at::kMeta)), name, "meta");
    EXPECT_EQ(values(metric.compute()), before);
  };
  refuses(PeakSignalNoiseRatio(1));
  refuses(Structural());
  refuses(Multiscale(MultiscaleOptions().betas({1}).kernel_size({3})));
  EXPECT_ERROR(PeakSignalNoiseRatio(0), "PeakSignalNoiseRatio", "data_range is 0");
  EXPECT_ERROR(PeakSignalNoiseRatio(DataRange(2, 1)), "data_range is 2 to 1");
  EXPECT_ERROR(PeakSignalNoiseRatio(PeakSignalNoiseRatioOptions(1).base(1)), "base is 1");
  EXPECT_ERROR(PeakSignalNoiseRatio(PeakSignalNoiseRatioOptions(1).dim(std::vector<int64_t>{4}))
                   .update(good.preds, good.target),
               "dim holds 4", "[2, 1, 16, 16]");
  EXPECT_ERROR(PeakSignalNoiseRatio(PeakSignalNoiseRatioOptions(1).dim(std::vector<int64_t>{1, -3}))
                   .update(good.preds, good.target),
               "PeakSignalNoiseRatio", "dim holds -3, dimension 1", "[2, 1, 16, 16]", "twice");
  EXPECT_ERROR(PeakSignalNoiseRatio{INFINITY}, "data_range is inf");
  EXPECT_ERROR(PeakSignalNoiseRatio(PeakSignalNoiseRatioOptions(1).base(INFINITY)), "base is inf");
  EXPECT_ERROR(Structural(StructuralOptions().k1(NAN)), "k1 is nan");
  EXPECT_ERROR(Structural(StructuralOptions().k2(INFINITY)), "k2 is inf");
  EXPECT_ERROR(Multiscale(MultiscaleOptions().betas({1, NAN})), "betas holds nan");
  // Windows that no memory holds.
  EXPECT_ERROR(Structural(StructuralOptions().sigma({1e300})).update(good.preds, good.target),
               "[16, 16]", "smaller sigma");
  EXPECT_ERROR(
      Structural(StructuralOptions().gaussian_kernel(false).kernel_size({(int64_t{1} << 40) + 1}))
          .update(good.preds, good.target),
      "the window of 1099511627777", "smaller kernel_size");
  EXPECT_ERROR(Structural(StructuralOptions().sigma({0})), "StructuralSimilarityIndexMeasure",
               "`sigma`", "Got 0");
  EXPECT_ERROR(Structural(StructuralOptions().kernel_size({4})), "kernel_size", "Got 4", "odd");
  EXPECT_ERROR(
      Structural(StructuralOptions().return_full_image(true).return_contrast_sensitivity(true)),
      "both");
  EXPECT_ERROR(Structural(StructuralOptions().sigma({1, 1, 1})).update(good.preds, good.target),
               "`sigma` has dimension 3");
  EXPECT_ERROR(Structural().update(good.preds.narrow(2, 0, 5), good.target.narrow(2, 0, 5)),
               "[5, 16]", "at least 6");
  EXPECT_ERROR(Structural().update(good.preds[0], good.target[0]), "[1, 16, 16]", "BxCxHxW");
  EXPECT_ERROR(Multiscale().update(good.preds, good.target), "[16, 16]", "at least 176", "betas");
  EXPECT_ERROR(Multiscale(MultiscaleOptions().betas({})), "betas holds 0");
  Structural plain, ranged(StructuralOptions().data_range(1));
  EXPECT_ERROR(plain.merge(ranged), "data_range=none", "data_range=1");
}

TEST_P(ImageMetrics, UpdateOnMetaTensors) {
  const at::Tensor images = at::empty({2, 1, 16, 16}, at::kMeta),
                   volumes = at::empty({2, 1, 16, 16, 16}, at::kMeta);
  const auto runs = [](SupervisedMetric &&metric, const at::Tensor &x) {
    for (int step = 0; step < 2; ++step)
      metric.update(x, x);
    EXPECT_TRUE(metric.compute().is_meta());
  };
  runs(PeakSignalNoiseRatio(1), images);
  runs(PeakSignalNoiseRatio(PeakSignalNoiseRatioOptions(1).dim(std::vector<int64_t>{1})), images);
  runs(Structural(), images);
  runs(Structural(StructuralOptions().return_contrast_sensitivity(true).data_range(1)), volumes);
  runs(Multiscale(MultiscaleOptions().betas({0.5, 0.5}).kernel_size({3})), images);
}

class ImageMetricsNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(ImageMetricsNoSync);

TEST_P(ImageMetricsNoSync, NeverWaitForTheDevice) {
  Images images;
  {
    const test::HostAccessScope host_access;
    images = random_images({2, 1, 16, 16}, at::kFloat).part(0, 2, device());
  }
  const devsan::ExpectNoSync no_sync;
  const auto runs = [&](SupervisedMetric &&metric) {
    for (int step = 0; step < 2; ++step)
      metric.update(images.preds, images.target);
    EXPECT_EQ(metric.compute().device(), device());
  };
  runs(PeakSignalNoiseRatio(DataRange(0, 1)));
  runs(PeakSignalNoiseRatio(PeakSignalNoiseRatioOptions(1).dim(std::vector<int64_t>{1})));
  runs(Structural());
  runs(Structural(StructuralOptions().return_full_image(true).data_range(DataRange(0, 1))));
  runs(Multiscale(MultiscaleOptions().betas({0.5, 0.5}).kernel_size({3})));
}

} // namespace
} // namespace devsan::metrics
