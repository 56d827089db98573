// Cases whose values follow from the protocol by hand; whole data sets are compared with
// pycocotools in metrics/python/tests/detection_test.py.
#include "metrics/detection/mean_average_precision.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

class MeanAveragePrecisionTest : public test::DeviceTest {
protected:
  at::Tensor boxes(std::vector<std::vector<double>> rows) const {
    std::vector<at::Tensor> all{at::empty({0, 4})};
    for (const std::vector<double> &row : rows)
      all.push_back(at::tensor(row, at::kFloat).unsqueeze(0));
    return at::cat(all).to(device());
  }
  at::Tensor floats(std::vector<double> numbers) const {
    return at::tensor(numbers, at::kFloat).to(device());
  }
  at::Tensor labels(std::vector<int64_t> numbers) const {
    return at::tensor(numbers, at::kLong).to(device());
  }
  double of(const MeanAveragePrecision &metric, const std::string &key = "map") const {
    return values(metric.compute_dict()[key])[0];
  }

  const std::vector<double> ten = {0, 0, 10, 10}, hundred = {0, 0, 100, 100};
};

class MeanAveragePrecisionOnDevice : public MeanAveragePrecisionTest {};
DEVSAN_DEVICE_SUITE(MeanAveragePrecisionOnDevice);

TEST_P(MeanAveragePrecisionOnDevice, FollowsTheProtocol) {
  MeanAveragePrecision right;
  right.update({{boxes({ten}), floats({0.5}), labels({3})}}, {{boxes({ten}), labels({3})}});
  EXPECT_EQ(of(right), 1);
  EXPECT_EQ(of(right, "map_small"), 1);
  EXPECT_EQ(of(right, "map_medium"), -1);
  EXPECT_EQ(of(right, "mar_1"), 1);
  EXPECT_EQ(right.compute().device(), device());

  // An overlap of 0.62 is right at 0.5, 0.55 and 0.6.
  MeanAveragePrecision loose;
  loose.update({{boxes({{0, 0, 100, 62}}), floats({0.5}), labels({0})}},
               {{boxes({hundred}), labels({0})}});
  EXPECT_NEAR(of(loose), 0.3, 1e-6);
  EXPECT_EQ(of(loose, "map_50"), 1);
  EXPECT_EQ(of(loose, "map_75"), 0);
  EXPECT_NEAR(of(loose, "map_large"), 0.3, 1e-6);

  // Where the best score is wrong, half of what is found is right, whatever the recall.
  MeanAveragePrecision second;
  second.update({{boxes({{200, 200, 210, 210}, ten}), floats({0.9, 0.8}), labels({0, 0})}},
                {{boxes({ten}), labels({0})}});
  EXPECT_EQ(of(second), 0.5);
  EXPECT_EQ(of(second, "mar_1"), 0);
  EXPECT_EQ(of(second, "mar_10"), 1);

  // In a crowd nothing is wrong; its own area says how large an object is.
  MeanAveragePrecision crowd;
  crowd.update({{boxes({{20, 20, 30, 30}, {40, 20, 50, 30}, ten}), floats({0.9, 0.8, 0.7}),
                 labels({0, 0, 0})}},
               {{boxes({hundred, ten}), labels({0, 0}), labels({1, 0}), floats({0, 5000})}});
  EXPECT_EQ(of(crowd), 1);
  EXPECT_EQ(of(crowd, "map_medium"), 1);
  EXPECT_EQ(of(crowd, "map_small"), -1);
}

TEST_P(MeanAveragePrecisionOnDevice, ReadsBoxesAsItIsTold) {
  const std::pair<BoxFormat, std::vector<double>> formats[] = {
      {BoxFormat::kXyxy, {10, 20, 40, 60}},
      {BoxFormat::kXywh, {10, 20, 30, 40}},
      {BoxFormat::kCxcywh, {25, 40, 30, 40}}};
  for (const auto &[format, box] : formats) {
    MeanAveragePrecision metric(
        MeanAveragePrecisionOptions().box_format(format).iou_thresholds(std::vector{0.99}));
    std::vector<double> moved = box;
    moved[0] += 5;
    metric.update({{boxes({box}), floats({0.5}), labels({0})}}, {{boxes({box}), labels({0})}});
    metric.update({{boxes({moved}), floats({0.4}), labels({0})}}, {{boxes({box}), labels({0})}});
    EXPECT_NEAR(of(metric), 51. / 101, 1e-6);
    EXPECT_EQ(of(metric, "map_50"), -1); // not among the thresholds
  }
}

TEST_P(MeanAveragePrecisionOnDevice, AveragesOverClasses) {
  const std::vector<Detections> preds = {
      {boxes({ten, hundred}), floats({0.5, 0.6}), labels({7, 2})}};
  const std::vector<GroundTruth> target = {{boxes({ten, ten}), labels({7, 2})}};
  MeanAveragePrecision macro(MeanAveragePrecisionOptions().class_metrics(true));
  macro.update(preds, target);
  EXPECT_EQ(of(macro), 0.5);
  const auto all = macro.compute_dict();
  EXPECT_EQ(values<int64_t>(all["classes"]), (std::vector<int64_t>{2, 7}));
  EXPECT_EQ(values(all["map_per_class"]), (std::vector<double>{0, 1}));
  EXPECT_EQ(values(all["mar_100_per_class"]), (std::vector<double>{0, 1}));
  MeanAveragePrecision micro(MeanAveragePrecisionOptions()
                                 .average(DetectionAverage::kMicro)
                                 .class_metrics(true)
                                 .extended_summary(true)
                                 .dtype(at::kDouble));
  micro.update(preds, target);
  // Of two objects one is found, by the second detection.
  EXPECT_NEAR(of(micro), 0.5 * 51 / 101, 1e-12);
  const auto curves = micro.compute_dict();
  EXPECT_EQ(curves["precision"].sizes(), (std::vector<int64_t>{10, 101, 1, 4, 3}));
  EXPECT_EQ(curves["recall"].sizes(), (std::vector<int64_t>{10, 1, 4, 3}));
  EXPECT_EQ(values(curves["precision"][0][50][0][0][2])[0], 0.5);
  EXPECT_EQ(values(curves["precision"][0][51][0][0][2])[0], 0);
  EXPECT_EQ(values(curves["recall"][0][0][1])[2], 0.5);
  EXPECT_EQ(values(curves["map_per_class"])[0], 0); // of the labels
  EXPECT_NEAR(values(curves["map_per_class"])[1], 1, 1e-12);
  EXPECT_EQ(values(curves["mar_100_per_class"]), (std::vector<double>{0, 1}));
  MeanAveragePrecision repeated(
      MeanAveragePrecisionOptions().max_detection_thresholds(std::vector<int64_t>{10, 100, 10}));
  repeated.update(preds, target);
  EXPECT_EQ(of(repeated, "mar_10"), 0.5);
  EXPECT_EQ(of(repeated, "mar_100"), 0.5);
}

TEST_P(MeanAveragePrecisionOnDevice, TakesImagesWithoutAnything) {
  MeanAveragePrecision metric;
  metric.update({}, {});
  EXPECT_TRUE(metric.states().empty());
  EXPECT_EQ(values(mean_average_precision({}, {})["map"])[0], -1);
  const auto nothing = at::empty({0}, device());
  metric.update({{nothing, nothing, labels({})}}, {{nothing, labels({})}});
  EXPECT_EQ(of(metric), -1);
  metric.update({{boxes({ten}), floats({0.5}), labels({0})}}, {{nothing, labels({})}});
  EXPECT_EQ(of(metric), -1);
  metric.update({{nothing, nothing, labels({})}}, {{boxes({ten}), labels({0})}});
  EXPECT_EQ(of(metric), 0);
  EXPECT_EQ(values<int64_t>(metric.states()[3]), (std::vector<int64_t>{0, 1, 0}));
  // Its tensors' dtypes, here those of torch.tensor([]), change nothing of other images.
  const int64_t wide = (int64_t{1} << 53) + 1;
  MeanAveragePrecision mixed;
  mixed.update({{boxes({ten}), floats({0.5}), labels({wide})}, {nothing, nothing, nothing}},
               {{boxes({ten}), labels({wide})}, {nothing, nothing}});
  EXPECT_EQ(values<int64_t>(mixed.compute_dict()["classes"]), std::vector<int64_t>{wide});
  const at::Tensor complex = nothing.to(at::kComplexFloat);
  EXPECT_ERROR(metric.update({{nothing, complex, nothing}}, {{nothing, nothing}}), "scores");
  EXPECT_ERROR(metric.update({{nothing, nothing, complex}}, {{nothing, nothing}}), "labels");
  for (const auto average : {DetectionAverage::kMacro, DetectionAverage::kMicro}) {
    MeanAveragePrecision none(
        MeanAveragePrecisionOptions().average(average).extended_summary(true).class_metrics(true));
    none.update({{nothing, nothing, labels({})}}, {{nothing, labels({})}});
    const auto all = none.compute_dict();
    EXPECT_EQ(values(all["map"])[0], -1);
    EXPECT_EQ(all["precision"].sizes(), (std::vector<int64_t>{10, 101, 0, 4, 3}));
  }
}

// Some images of several classes, as (detections, truth) by a rule of arithmetic.
struct ImagesOf {
  std::vector<Detections> preds;
  std::vector<GroundTruth> target;
};
ImagesOf images(int64_t from, int64_t to, at::Device device) {
  ImagesOf all;
  for (int64_t image = from; image < to; ++image) {
    const int64_t n = image % 4, found = n + image % 3;
    const at::Tensor corner = at::arange(2 * n, at::kFloat).view({n, 2}) * 30 + image;
    const at::Tensor size = at::arange(2 * n, at::kFloat).view({n, 2}).fmod(7) * 9 + 10;
    const at::Tensor box = at::cat({corner, corner + size}, 1);
    const at::Tensor near =
        at::cat({box + image % 5, at::full({found - n, 4}, 3) + at::tensor({0, 0, 5, 5})});
    const at::Tensor scores = (at::arange(found, at::kFloat) * 37 + image * 11).fmod(29) / 29;
    all.preds.push_back(
        {near.to(device), scores.to(device), (at::arange(found, at::kLong) % 3).to(device)});
    all.target.push_back({box.to(device), (at::arange(n, at::kLong) % 3).to(device)});
  }
  return all;
}

TEST_P(MeanAveragePrecisionOnDevice, IsThatOfAllImagesHoweverTheyCame) {
  const ImagesOf all = images(0, 20, device());
  MeanAveragePrecision whole;
  whole.update(all.preds, all.target);
  const double expected = of(whole);
  EXPECT_GT(expected, 0.1);
  EXPECT_LT(expected, 0.9);

  MeanAveragePrecision first, second;
  for (const auto &[from, to, metric] :
       {std::tuple(0, 7, &first), std::tuple(7, 8, &first), std::tuple(8, 20, &second)}) {
    const ImagesOf part = images(from, to, device());
    metric->update(part.preds, part.target);
  }
  first.merge(second);
  EXPECT_EQ(of(first), expected);
  MeanAveragePrecision loaded;
  loaded.load_state_dict(first.state_dict());
  EXPECT_EQ(of(loaded), expected);
  const ImagesOf again = images(0, 20, device());
  EXPECT_EQ(values(mean_average_precision(again.preds, again.target)["map"])[0], expected);

  test::onRanks(3, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
    MeanAveragePrecision metric;
    if (group->getRank() != 1) {
      const ImagesOf part =
          group->getRank() == 0 ? images(0, 13, device()) : images(13, 20, device());
      metric.update(part.preds, part.target);
    }
    metric.sync(group);
    EXPECT_EQ(of(metric), expected);
  });
}

TEST_P(MeanAveragePrecisionOnDevice, TakesInputsUnderEveryDevicePolicy) {
  const ImagesOf all = images(0, 20, device());
  MeanAveragePrecision whole;
  whole.update(all.preds, all.target);
  for (const DevicePolicy policy :
       {DevicePolicy::kFollow, DevicePolicy::kPerDevice, DevicePolicy::kMove}) {
    MeanAveragePrecision metric;
    metric.device_policy(policy);
    for (const auto &[from, to] : {std::pair(0, 9), std::pair(9, 9), std::pair(9, 20)}) {
      const at::Device on =
          policy == DevicePolicy::kFollow || from == 0 ? device() : test::rankDevice(device(), 1);
      const ImagesOf part = images(from, to, on);
      metric.update(part.preds, part.target);
    }
    EXPECT_EQ(of(metric), of(whole));
  }
}

TEST_P(MeanAveragePrecisionOnDevice, RefusesWrongInputs) {
  MeanAveragePrecision metric;
  const at::Tensor box = boxes({ten}), score = floats({0.5}), label = labels({0});
  EXPECT_ERROR(metric.update({{box, score, label}}, {}), "have the same length, but got 1 and 0");
  EXPECT_ERROR(metric.update({{box, floats({0.5, 1}), label}}, {{box, label}}),
               "sample 0 in predictions", "expected 1 labels and scores, got 1 labels and 2");
  EXPECT_ERROR(metric.update({{box, score, label}}, {{box, labels({1, 2})}}), "sample 0 in targets",
               "got 2");
  EXPECT_ERROR(metric.update({{score, score, label}}, {{box, label}}), "Invalid input box", "[1]");
  EXPECT_ERROR(metric.update({{box, label, label}}, {{box, label}}), "score", "Long");
  EXPECT_ERROR(metric.update({{box, score, score}}, {{box, label}}), "class", "Float");
  EXPECT_ERROR(metric.update({{box, score, label}}, {{box, label, labels({0, 0})}}), "iscrowd",
               "[2]");
  EXPECT_ERROR(metric.update({{box, score, label}}, {{box.to(at::kMeta), label}}), "boxes", "meta");
  EXPECT_TRUE(metric.states().empty());
  using Options = MeanAveragePrecisionOptions;
  EXPECT_ERROR(
      MeanAveragePrecision(Options().max_detection_thresholds(std::vector<int64_t>{1, 10})),
      "length 3. Got value 2");
  EXPECT_ERROR(MeanAveragePrecision(Options().iou_thresholds(std::vector{0.5, 50.})), "50",
               "[0, 1]");
  MeanAveragePrecision other(Options().box_format(BoxFormat::kXywh));
  EXPECT_ERROR(metric.merge(other), "box_format");
  metric.update({{box, score, label}}, {{box, label}});
}

TEST_P(MeanAveragePrecisionOnDevice, RefusesDamagedStates) {
  MeanAveragePrecision metric;
  metric.update({{boxes({ten}), floats({0.5}), labels({0})}}, {{boxes({ten}), labels({0})}});
  const auto good = metric.state_dict();
  const int64_t most = std::numeric_limits<int64_t>::max();
  const struct {
    const char *state;
    at::Tensor value;
    const char *text;
  } cases[] = {{"detection_scores", floats({0.5, 0.6}), "2 rows"},
               {"detection_scores", floats({0.5}).unsqueeze(1), "[1, 1]"},
               {"detection_labels", floats({0.5}), "Float"},
               {"detection_box", floats({0.5}), "[N, 4]"},
               {"detections", floats({1}), "Float"},
               {"detections", labels({1}).unsqueeze(1), "[1, 1]"},
               {"detections", labels({-1}), "-1"},
               {"detections", labels({2}), "holds 2"},
               {"detections", labels({0}), "speak of 0"},
               {"detections", labels({1, 0}), "2 images"},
               {"groundtruths", labels({most}), "groundtruths"},
               {"groundtruth_area", floats({1}).to(at::kComplexFloat), "Complex"}};
  for (const auto &[state, value, text] : cases) {
    auto damaged = good;
    damaged[state] = value;
    EXPECT_ERROR(metric.load_state_dict(damaged), state, text);
  }
  metric.load_state_dict(good);
  EXPECT_EQ(of(metric), 1);
  MeanAveragePrecision meta;
  const ImagesOf all = images(0, 5, at::kMeta);
  meta.update(all.preds, all.target);
  MeanAveragePrecision loaded;
  loaded.load_state_dict(meta.state_dict());
  EXPECT_EQ(loaded.device(), at::Device(at::kMeta));
}

TEST(MeanAveragePrecision, UpdatesOnMetaTensors) {
  MeanAveragePrecision metric;
  const ImagesOf all = images(0, 5, at::kMeta);
  metric.update(all.preds, all.target);
  metric.update(all.preds, all.target);
  EXPECT_EQ(metric.states()[3].size(0), 10);
}

class MeanAveragePrecisionNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(MeanAveragePrecisionNoSync);

TEST_P(MeanAveragePrecisionNoSync, UpdateNeverWaitsForTheDevice) {
  ImagesOf all;
  {
    const test::HostAccessScope host_access;
    all = images(0, 6, device());
  }
  MeanAveragePrecision metric;
  {
    const devsan::ExpectNoSync no_sync;
    metric.update(all.preds, all.target);
    metric.update(all.preds, all.target);
    metric.merge(MeanAveragePrecision(metric));
  }
  const test::HostAccessScope host_access;
  EXPECT_EQ(metric.compute().device(), device());
}

} // namespace
} // namespace devsan::metrics
