// Against loops over points and segments.
#include "metrics/detection/panoptic_quality.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Segment = std::pair<int64_t, int64_t>;

const std::vector<int64_t> kThings = {11, 3}, kStuffs = {6, 40};
const std::vector<int64_t> kOrder = {3, 11, 6, 40};
const Segment kVoid = {-1, 0};

bool isStuff(int64_t category) {
  return category == 6 || category == 40;
}

struct Sums {
  double iou = 0, right = 0, wrong = 0, missed = 0;
};

Segment segment(int64_t category, int64_t instance) {
  if (std::find(kOrder.begin(), kOrder.end(), category) == kOrder.end())
    return kVoid;
  return {category, isStuff(category) ? 0 : instance};
}

void countImage(const std::vector<int64_t> &preds, const std::vector<int64_t> &target,
                bool modified, std::map<int64_t, Sums> &sums) {
  std::map<Segment, double> found, expected;
  std::map<std::pair<Segment, Segment>, double> both;
  for (size_t i = 0; i < preds.size(); i += 2) {
    const Segment p = segment(preds[i], preds[i + 1]), t = segment(target[i], target[i + 1]);
    found[p] += 1;
    expected[t] += 1;
    both[{p, t}] += 1;
  }
  const auto meet = [&](const Segment &p, const Segment &t) {
    const auto it = both.find({p, t});
    return it == both.end() ? 0 : it->second;
  };
  std::map<Segment, bool> found_matched, expected_matched;
  for (const auto &[pair, area] : both) {
    const auto &[p, t] = pair;
    if (t == kVoid || p.first != t.first)
      continue;
    const double iou = area / (found[p] - meet(p, kVoid) + expected[t] - meet(kVoid, t) - area);
    const bool any = modified && isStuff(t.first);
    if (any || iou > 0.5)
      sums[t.first].iou += iou;
    if (!any && iou > 0.5) {
      sums[t.first].right += 1;
      found_matched[p] = expected_matched[t] = true;
    }
  }
  for (const auto &[p, area] : found)
    if (p != kVoid && !found_matched[p] && meet(p, kVoid) / area <= 0.5 &&
        !(modified && isStuff(p.first)))
      sums[p.first].wrong += 1;
  for (const auto &[t, area] : expected) {
    if (t == kVoid)
      continue;
    if (modified && isStuff(t.first))
      sums[t.first].right += 1;
    else if (!expected_matched[t] && meet(kVoid, t) / area <= 0.5)
      sums[t.first].missed += 1;
  }
}

// Of each category (panoptic, segmentation, recognition quality), then their means.
std::vector<std::vector<double>> reference(const at::Tensor &preds, const at::Tensor &target,
                                           bool modified) {
  std::map<int64_t, Sums> sums;
  for (int64_t i = 0; i < preds.size(0); ++i)
    countImage(values<int64_t>(preds[i]), values<int64_t>(target[i]), modified, sums);
  std::vector<std::vector<double>> rows;
  std::vector<double> mean(3, 0);
  double number = 0;
  for (const int64_t category : kOrder) {
    const auto [iou, right, wrong, missed] = sums[category];
    const double all = right + (wrong + missed) / 2;
    const double sq = right > 0 ? iou / right : 0, rq = all > 0 ? right / all : 0;
    rows.push_back({sq * rq, sq, rq});
    number += all > 0;
    for (size_t i = 0; i < 3; ++i)
      mean[i] += rows.back()[i];
  }
  for (double &x : mean)
    x /= number;
  rows.push_back(mean);
  return rows;
}

// Blocks of points of one segment, of which some predictions are off.
std::pair<at::Tensor, at::Tensor> randomImages(int64_t n, bool unknown) {
  const at::Tensor table = at::tensor(std::vector<int64_t>{3, 11, 6, 40, unknown ? 99 : 3});
  const auto blocks = [&](int64_t images) {
    const at::Tensor category = table.index({at::randint(5, {images, 4, 4}, at::kLong)});
    return at::stack({category, at::randint(-2, 3, {images, 4, 4}, at::kLong)}, -1);
  };
  const auto grown = [](const at::Tensor &x) {
    return x.repeat_interleave(3, 1).repeat_interleave(4, 2);
  };
  const at::Tensor target = grown(blocks(n));
  const at::Tensor off = at::rand({n, 12, 16, 1}).lt(0.2);
  const at::Tensor preds = at::where(off, grown(blocks(n)), target);
  // The target has void in any case.
  return {preds, target.masked_fill(at::rand({n, 12, 16, 1}).lt(0.05), 99)};
}

class Panoptic : public test::DeviceTest {};
DEVSAN_DEVICE_SUITE(Panoptic);

TEST_P(Panoptic, IsWhatLoopsSay) {
  at::manual_seed(0);
  for (const bool unknown : {false, true}) {
    const auto [preds, target] = randomImages(6, unknown);
    const at::Tensor x = preds.to(device()), y = target.to(device());
    const auto expected = reference(preds, target, false);
    PanopticQualityOptions options(kThings, kStuffs);
    options.allow_unknown_preds_category(unknown);
    for (const bool each : {false, true})
      for (const bool all : {false, true}) {
        PanopticQuality first(
            PanopticQualityOptions(options).return_sq_and_rq(all).return_per_class(each));
        PanopticQuality second(first);
        first.update(x.narrow(0, 0, 1), y.narrow(0, 0, 1));
        first.update(x.narrow(0, 1, 2).to(at::kInt), y.narrow(0, 1, 2));
        second.update(x.narrow(0, 3, 3), y.narrow(0, 3, 3));
        first.merge(second);
        const at::Tensor result = first.compute();
        EXPECT_EQ(result.device(), device());
        EXPECT_EQ(result.sizes(), each  ? all ? at::IntArrayRef({4, 3}) : at::IntArrayRef({1, 4})
                                  : all ? at::IntArrayRef({3})
                                        : at::IntArrayRef());
        const std::vector<double> numbers = values(result);
        for (size_t i = 0; i < numbers.size(); ++i) {
          const size_t column = all ? i % 3 : 0, row = !each ? 4 : all ? i / 3 : i;
          EXPECT_NEAR(numbers[i], expected[row][column], 1e-12);
        }
      }
    ModifiedPanopticQuality modified(
        ModifiedPanopticQualityOptions(kThings, kStuffs).allow_unknown_preds_category(unknown));
    modified.update(x.view({6, -1, 2}), y.view({6, -1, 2}));
    EXPECT_NEAR(values(modified.compute())[0], reference(preds, target, true)[4][0], 1e-12);
    EXPECT_NEAR(values(panoptic_quality(x, y, options))[0], expected[4][0], 1e-12);
  }
}

TEST_P(Panoptic, DefaultDtypeDoesNotMatter) {
  // One segment is right, and 257 are wrong: a number with more digits than bfloat16 has.
  const at::Tensor number = at::arange(259, at::kLong), one = number.lt(2);
  const auto points = [&](const at::Tensor &category, const at::Tensor &instance) {
    return at::stack({category, instance}, -1).unsqueeze(0).to(device());
  };
  const at::Tensor x = points(at::full_like(number, 3), number.clamp_min(1));
  const at::Tensor y = points(at::where(one, 3, at::full_like(number, 6)), one.to(at::kLong));
  PanopticQuality metric(PanopticQualityOptions(kThings, kStuffs).return_sq_and_rq(true));
  metric.update(x, y);
  const auto expected = values(metric.compute());
  const caffe2::TypeMeta before = at::get_default_dtype();
  at::set_default_dtype(caffe2::TypeMeta::fromScalarType(at::kBFloat16));
  const at::Tensor found = metric.compute();
  at::set_default_dtype(before);
  EXPECT_EQ(values(found), expected);
}

TEST_P(Panoptic, SyncsAsIfSeenByOne) {
  at::manual_seed(1);
  const auto [preds, target] = randomImages(5, false);
  const double expected = reference(preds, target, false)[4][0];
  const at::Tensor x = preds.to(device()), y = target.to(device());
  test::onRanks(3, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
    PanopticQuality metric(PanopticQualityOptions(kThings, kStuffs));
    if (group->getRank() != 1) {
      const int64_t from = group->getRank() == 0 ? 0 : 2, number = group->getRank() == 0 ? 2 : 3;
      metric.update(x.narrow(0, from, number), y.narrow(0, from, number));
    }
    metric.sync(group);
    EXPECT_NEAR(values(metric.compute())[0], expected, 1e-12);
  });
}

TEST_P(Panoptic, NoticesUnknownCategories) {
  const at::Tensor points =
      at::tensor(std::vector<int64_t>{3, 1, 99, 1}).view({1, 2, 2}).to(device());
  PanopticQuality eager(PanopticQualityOptions(kThings, kStuffs).validate(Validate::kEager));
  EXPECT_ERROR(eager.update(points, points), "PanopticQuality", "Unknown categories found: 1 of 2");
  EXPECT_TRUE(eager.states().empty());
  PanopticQuality deferred(PanopticQualityOptions(kThings, kStuffs).validate(Validate::kDeferred));
  deferred.update(points, points);
  EXPECT_ERROR(deferred.check_valid(), "1 predicted points");
  if (device().is_cpu())
    EXPECT_ERROR(deferred.compute(), "1 predicted points");
  else
    EXPECT_TRUE(std::isnan(values(deferred.compute())[0]));
}

TEST_P(Panoptic, RefusesWrongInputs) {
  PanopticQuality metric(PanopticQualityOptions(kThings, kStuffs));
  const at::Tensor good = at::full({1, 3, 2}, 3, at::TensorOptions(device()).dtype(at::kLong));
  EXPECT_ERROR(metric.update(good, good.narrow(1, 0, 2)), "same shape");
  EXPECT_ERROR(metric.update(good[0], good[0]), "spatial dimension");
  EXPECT_ERROR(metric.update(good.narrow(2, 0, 1), good.narrow(2, 0, 1)), "2 channels");
  EXPECT_ERROR(metric.update(good.to(at::kFloat), good), "preds", "Float", "integers");
  metric.update(good.narrow(1, 0, 0), good.narrow(1, 0, 0));
  EXPECT_TRUE(std::isnan(values(metric.compute())[0]));
  EXPECT_ERROR(PanopticQuality(PanopticQualityOptions({1}, {1})), "distinct keys");
  EXPECT_ERROR(PanopticQuality(PanopticQualityOptions({}, {})), "non-empty");
}

TEST(PanopticQualityTest, UpdatesOnMetaTensors) {
  PanopticQuality metric(PanopticQualityOptions(kThings, kStuffs));
  const at::Tensor points = at::empty({2, 5, 2}, at::TensorOptions(at::kMeta).dtype(at::kLong));
  metric.update(points, points);
  metric.update(points, points);
  EXPECT_EQ(metric.states()[1].sizes(), at::IntArrayRef({4}));
}

class PanopticNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(PanopticNoSync);

TEST_P(PanopticNoSync, NeverWaitsForTheDevice) {
  at::Tensor x, y;
  {
    const test::HostAccessScope host_access;
    const auto [preds, target] = randomImages(2, false);
    x = preds.to(device());
    y = target.to(device());
  }
  const devsan::ExpectNoSync no_sync;
  PanopticQuality metric(PanopticQualityOptions(kThings, kStuffs));
  ModifiedPanopticQuality modified(ModifiedPanopticQualityOptions(kThings, kStuffs));
  for (int step = 0; step < 2; ++step) {
    metric.update(x, y);
    modified.update(x, y);
  }
  EXPECT_EQ(metric.compute().device(), device());
  EXPECT_EQ(modified.compute().device(), device());
}

} // namespace
} // namespace devsan::metrics
