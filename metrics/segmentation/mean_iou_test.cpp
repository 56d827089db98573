// Against loops over images, classes and points.
#include "metrics/segmentation/mean_iou.h"

#include <cmath>

#include <gtest/gtest.h>

#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Format = SegmentationFormat;

constexpr int64_t kClasses = 4;

// Of each image and class, -1 where both have it not; inputs are [N, C, points] of 0 and 1.
std::vector<std::vector<double>> ratios(const at::Tensor &preds, const at::Tensor &target) {
  std::vector<std::vector<double>> of_images;
  for (int64_t i = 0; i < preds.size(0); ++i) {
    std::vector<double> of_classes;
    for (int64_t c = 0; c < preds.size(1); ++c) {
      double both = 0, either = 0;
      const auto p = values(preds[i][c]), t = values(target[i][c]);
      for (size_t k = 0; k < p.size(); ++k) {
        both += p[k] != 0 && t[k] != 0;
        either += p[k] != 0 || t[k] != 0;
      }
      of_classes.push_back(either == 0 ? -1 : both / either);
    }
    of_images.push_back(of_classes);
  }
  return of_images;
}

double mean(const std::vector<double> &numbers) {
  double sum = 0, number = 0;
  for (const double x : numbers)
    if (x >= 0) {
      sum += x;
      number += 1;
    }
  return sum / number;
}

std::vector<double> column(const std::vector<std::vector<double>> &rows, size_t c) {
  std::vector<double> numbers;
  for (const auto &row : rows)
    numbers.push_back(row[c]);
  return numbers;
}

at::Tensor oneHot(const at::Tensor &indices) {
  return at::one_hot(indices, kClasses).movedim(-1, 1);
}

class MeanIoUOnDevice : public test::DeviceTest {};
DEVSAN_DEVICE_SUITE(MeanIoUOnDevice);

TEST_P(MeanIoUOnDevice, IsWhatLoopsSay) {
  at::manual_seed(0);
  // The last class is in no image.
  const at::Tensor indices = at::randint(kClasses - 1, {5, 3, 4}, at::kLong);
  const at::Tensor scores = at::rand({5, kClasses, 3, 4}).index_fill(1, at::tensor(int64_t{3}), -1);
  const at::Tensor several = at::rand({5, kClasses, 3, 4}).gt(0.6);
  const struct {
    Format format;
    at::Tensor preds, target, preds_mask, target_mask;
  } cases[] = {{Format::kOneHot, several, oneHot(indices), several, oneHot(indices)},
               {Format::kOneHot, scores, oneHot(indices).to(at::kDouble), oneHot(scores.argmax(1)),
                oneHot(indices)},
               {Format::kIndex, scores.argmax(1), indices.to(at::kByte), oneHot(scores.argmax(1)),
                oneHot(indices)},
               {Format::kMixed, scores, indices, oneHot(scores.argmax(1)), oneHot(indices)},
               {Format::kMixed, indices, several, oneHot(indices), several}};
  for (const auto &[format, preds, target, preds_mask, target_mask] : cases) {
    const auto all =
        ratios(preds_mask.reshape({5, kClasses, -1}), target_mask.reshape({5, kClasses, -1}));
    const at::Tensor x = preds.to(device()), y = target.to(device());
    for (const bool background : {true, false}) {
      const size_t first_class = background ? 0 : 1;
      std::vector<double> pooled;
      for (const auto &row : all)
        pooled.insert(pooled.end(), row.begin() + static_cast<int64_t>(first_class), row.end());
      MeanIoUOptions options;
      options.input_format(format).num_classes(kClasses).include_background(background);
      MeanIoU first(options), second(options);
      MeanIoU each(MeanIoUOptions(options).per_class(true).dtype(at::kDouble));
      first.update(x.narrow(0, 0, 2), y.narrow(0, 0, 2));
      second.update(x.narrow(0, 2, 3), y.narrow(0, 2, 3));
      first.merge(second);
      EXPECT_NEAR(values(first.compute())[0], mean(pooled), 1e-6);
      each.update(x, y);
      const auto of_classes = values(each.compute());
      const auto of_images = values(mean_iou(x, y, options));
      const auto of_both = values(mean_iou(x, y, MeanIoUOptions(options).per_class(true)));
      ASSERT_EQ(of_classes.size(), kClasses - first_class);
      for (size_t c = first_class; c < kClasses; ++c) {
        const double expected = mean(column(all, c));
        EXPECT_NEAR(of_classes[c - first_class], std::isnan(expected) ? -1 : expected, 1e-12);
      }
      for (size_t i = 0; i < all.size(); ++i) {
        const std::vector<double> row(all[i].begin() + static_cast<int64_t>(first_class),
                                      all[i].end());
        EXPECT_NEAR(of_images[i], mean(row), 1e-6);
        EXPECT_NEAR(of_both[i * row.size()], row[0], 1e-6);
      }
    }
  }
  MeanIoU inferred;
  inferred.update(scores.to(device()), oneHot(indices).to(device()));
  EXPECT_EQ(inferred.compute().sizes(), at::IntArrayRef());
}

TEST_P(MeanIoUOnDevice, TakesNarrowIndicesOfManyClasses) {
  const at::Tensor indices = at::tensor(std::vector<int64_t>{0, 100, 255}).view({1, 3});
  const at::Tensor mask = at::one_hot(indices, 300).movedim(-1, 1).to(device());
  const at::Tensor narrow = indices.to(at::kByte).to(device());
  for (const auto &[x, y] :
       {std::pair(mask, narrow), std::pair(narrow, mask), std::pair(mask.to(at::kFloat), narrow)}) {
    MeanIoU metric(MeanIoUOptions().input_format(Format::kMixed).num_classes(300));
    metric.update(x, y);
    EXPECT_EQ(values(metric.compute())[0], 1);
    metric.check_valid();
  }
}

TEST_P(MeanIoUOnDevice, SyncsAsIfSeenByOne) {
  at::manual_seed(1);
  const at::Tensor x = at::randint(kClasses, {5, 2, 4}, at::kLong),
                   y = at::randint(kClasses, {5, 2, 4}, at::kLong);
  const MeanIoUOptions options =
      MeanIoUOptions().input_format(Format::kIndex).num_classes(kClasses);
  MeanIoU whole(options);
  whole.update(x, y);
  const double expected = values(whole.compute())[0];
  test::onRanks(3, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
    MeanIoU metric(options);
    const int64_t from = group->getRank() == 0 ? 0 : 2, number = group->getRank() == 0 ? 2 : 3;
    if (group->getRank() != 1)
      metric.update(x.narrow(0, from, number).to(device()), y.narrow(0, from, number).to(device()));
    metric.sync(group);
    EXPECT_NEAR(values(metric.compute())[0], expected, 1e-6);
  });
}

TEST_P(MeanIoUOnDevice, NoticesIndicesThatAreNoClass) {
  const at::Tensor x = at::tensor(std::vector<int64_t>{0, 1, 4, -1}).view({1, 4}).to(device());
  MeanIoUOptions options;
  options.input_format(Format::kIndex).num_classes(kClasses);
  MeanIoU eager(MeanIoUOptions(options).validate(Validate::kEager));
  EXPECT_ERROR(eager.update(x, x), "MeanIoU", "4 of the inputs' indices");
  EXPECT_TRUE(eager.states().empty());
  MeanIoU deferred(MeanIoUOptions(options).validate(Validate::kDeferred));
  deferred.update(x, x);
  EXPECT_ERROR(deferred.check_valid(), "4 indices");
  if (device().is_cpu())
    EXPECT_ERROR(deferred.compute(), "4 indices");
  else
    EXPECT_TRUE(std::isnan(values(deferred.compute())[0]));
}

TEST_P(MeanIoUOnDevice, RefusesWrongInputs) {
  MeanIoU metric;
  const at::Tensor good = at::zeros({2, 3, 4}, device());
  EXPECT_ERROR(metric.update(good, good.narrow(2, 0, 2)), "same shape", "[N, C, ...]");
  EXPECT_ERROR(metric.update(good.select(2, 0).select(1, 0), good.select(2, 0).select(1, 0)),
               "same shape");
  EXPECT_ERROR(MeanIoU(MeanIoUOptions().input_format(Format::kIndex)), "num_classes", "provided");
  EXPECT_ERROR(MeanIoU(MeanIoUOptions().num_classes(0)), "positive integer, but got 0");
  EXPECT_ERROR(MeanIoU(MeanIoUOptions().per_class(true)).update(good, good), "num_classes",
               "not given");
  EXPECT_ERROR(MeanIoU(MeanIoUOptions().num_classes(5)).update(good, good), "[2, 3, 4]", "5");
  MeanIoU mixed(MeanIoUOptions().input_format(Format::kMixed));
  EXPECT_ERROR(mixed.update(good, good.select(1, 0)), "target", "Float", "integers");
  EXPECT_ERROR(mixed.update(good, good), "[N, C, ...] and [N, ...]");
  metric.update(good.narrow(0, 0, 0), good.narrow(0, 0, 0));
  EXPECT_TRUE(std::isnan(values(metric.compute())[0]));
}

TEST(MeanIoUTest, UpdatesOnMetaTensors) {
  MeanIoU metric;
  const at::Tensor x = at::empty({2, 3, 4}, at::kMeta);
  metric.update(x, x);
  metric.update(x, x);
  EXPECT_EQ(metric.states()[0].size(1), 1);
}

class MeanIoUNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(MeanIoUNoSync);

TEST_P(MeanIoUNoSync, NeverWaitsForTheDevice) {
  const at::Tensor scores = at::rand({2, kClasses, 5}, device());
  const at::Tensor indices = scores.argmax(1);
  const devsan::ExpectNoSync no_sync;
  for (const auto &[format, x, y] :
       {std::tuple(Format::kOneHot, scores, scores), std::tuple(Format::kIndex, indices, indices),
        std::tuple(Format::kMixed, scores, indices)}) {
    MeanIoU metric(MeanIoUOptions().input_format(format).num_classes(kClasses).per_class(true));
    metric.update(x, y);
    metric.update(x, y);
    EXPECT_EQ(metric.compute().device(), device());
    EXPECT_EQ(mean_iou(x, y, MeanIoUOptions().input_format(format).num_classes(kClasses)).device(),
              device());
  }
}

} // namespace
} // namespace devsan::metrics
