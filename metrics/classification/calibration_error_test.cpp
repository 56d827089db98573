#include "metrics/classification/calibration_error.h"

#include <cmath>

#include <gtest/gtest.h>

#include "metrics/classification/classification_reference.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"

namespace devsan::metrics {
namespace {

using test::values;

constexpr std::array kNorms = {CalibrationNorm::kL1, CalibrationNorm::kL2, CalibrationNorm::kMax};
constexpr int64_t kClasses = 4;

struct CalibrationArguments {
  Task task = Task::kBinary;
  CalibrationNorm norm = CalibrationNorm::kL1;
  int64_t n_bins = 10;
  std::optional<int64_t> ignore_index = std::nullopt;
  bool from_logits = false;
  Validate validate = Validate::kAuto;
};

std::unique_ptr<CalibrationError> make(const CalibrationArguments &a) {
  const auto with = [&](auto options) {
    return options.norm(a.norm)
        .n_bins(a.n_bins)
        .ignore_index(a.ignore_index)
        .from_logits(a.from_logits)
        .validate(a.validate);
  };
  if (a.task == Task::kBinary)
    return std::make_unique<BinaryCalibrationError>(with(BinaryCalibrationErrorOptions()));
  return std::make_unique<MulticlassCalibrationError>(
      with(MulticlassCalibrationErrorOptions(kClasses)));
}

Batch calibration_batch(int64_t n, const CalibrationArguments &a) {
  Arguments arguments;
  arguments.classes = kClasses;
  arguments.ignore_index = a.ignore_index;
  Batch batch = random_batch(a.task, Input::kLogits, n, arguments);
  if (!a.from_logits) { // on the bins' ends, too
    batch.preds = a.task == Task::kBinary ? batch.preds.sigmoid() : batch.preds.softmax(1);
    batch.preds = (batch.preds * 20).round() / 20;
  }
  return batch;
}

double reference(const Batch &batch, const CalibrationArguments &a) {
  const bool binary = a.task == Task::kBinary;
  const auto scores = values(binary ? batch.preds : batch.preds.movedim(1, -1));
  const auto target = values<int64_t>(batch.target);
  const size_t width = binary ? 1 : kClasses;
  // One more for a confidence of 1.
  std::vector<double> right(a.n_bins + 1), confidence(a.n_bins + 1), all(a.n_bins + 1);
  double total = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    if (a.ignore_index && target[i] == *a.ignore_index)
      continue;
    std::vector<double> p(scores.begin() + i * width, scores.begin() + (i + 1) * width);
    if (a.from_logits) {
      double sum = 0;
      for (double &x : p) {
        x = binary ? 1 / (1 + std::exp(-x)) : std::exp(x);
        sum += x;
      }
      for (double &x : p)
        x /= binary ? 1 : sum;
    }
    const auto best = std::max_element(p.begin(), p.end()) - p.begin();
    size_t bin = 0;
    while (bin + 1 < all.size() &&
           p[best] >= static_cast<float>(bin + 1) / static_cast<float>(a.n_bins))
      ++bin;
    all[bin] += 1;
    confidence[bin] += p[best];
    right[bin] += binary ? target[i] : best == target[i];
    total += 1;
  }
  double l1 = 0, l2 = 0, max = 0;
  for (size_t bin = 0; bin < all.size(); ++bin) {
    if (all[bin] == 0)
      continue;
    const double difference = std::abs(right[bin] - confidence[bin]) / all[bin];
    l1 += difference * all[bin] / total;
    l2 += difference * difference * all[bin] / total;
    max = std::max(max, difference);
  }
  return a.norm == CalibrationNorm::kL1 ? l1 : a.norm == CalibrationNorm::kL2 ? std::sqrt(l2) : max;
}

class CalibrationErrors : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(2); }
  at::Tensor scores(std::vector<double> numbers) const {
    return at::tensor(numbers, at::kFloat).to(device());
  }
  at::Tensor labels(std::vector<int64_t> numbers) const {
    return at::tensor(numbers, at::kLong).to(device());
  }
};
DEVSAN_DEVICE_SUITE(CalibrationErrors);

TEST_P(CalibrationErrors, EqualTheirDefinition) {
  for (const Task task : {Task::kBinary, Task::kMulticlass})
    for (const CalibrationNorm norm : kNorms)
      for (const bool from_logits : {false, true})
        for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {1}, {-100}})
          for (const int64_t n_bins : {1, 10, 15}) {
            const CalibrationArguments a{task, norm, n_bins, ignore_index, from_logits};
            const Batch all = calibration_batch(60, a);
            const auto metric = make(a), other = make(a);
            for (const auto &[start, length] : {std::pair(0, 20), {20, 0}, {20, 39}, {59, 1}}) {
              const Batch part = all.narrow(start, length).on(device());
              (start == 59 ? other : metric)->update(part.preds, part.target);
            }
            metric->merge(*other);
            EXPECT_EQ(metric->compute().device(), device());
            EXPECT_EQ(metric->compute().scalar_type(), at::kFloat);
            EXPECT_NEAR(values(metric->compute())[0], reference(all, a), 1e-6)
                << metric->name() << static_cast<int>(norm) << n_bins;
          }
}

TEST_P(CalibrationErrors, TakeOtherDtypes) {
  for (const Task task : {Task::kBinary, Task::kMulticlass})
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kDouble}) {
      CalibrationArguments a{task, CalibrationNorm::kL2};
      Batch batch = calibration_batch(100, a);
      batch.preds = batch.preds.to(dtype);
      const auto metric = make(a);
      metric->update(batch.preds.to(device()), batch.target.to(device()));
      EXPECT_NEAR(values(metric->compute())[0], reference(batch, a), 1e-6) << dtype;
    }
}

// Values of torchmetrics 1.9.0.
TEST_P(CalibrationErrors, EqualsTorchMetrics) {
  const at::Tensor preds = scores({0.25, 0.25, 0.55, 0.75, 0.75}), target = labels({0, 0, 1, 1, 1});
  const auto options = [](CalibrationNorm norm) {
    return BinaryCalibrationErrorOptions().n_bins(2).norm(norm);
  };
  EXPECT_NEAR(values(binary_calibration_error(preds, target, options(kNorms[0])))[0], 0.29, 1e-6);
  EXPECT_NEAR(values(binary_calibration_error(preds, target, options(kNorms[1])))[0], 0.2918, 1e-4);
  EXPECT_NEAR(values(binary_calibration_error(preds, target, options(kNorms[2])))[0], 0.3167, 1e-4);
}

TEST_P(CalibrationErrors, CountInIntegers) {
  BinaryCalibrationError metric(BinaryCalibrationErrorOptions().n_bins(2));
  metric.update(scores({0.25, 0.75, 1}), labels({0, 1, 0}));
  EXPECT_EQ(values<int64_t>(metric.states()[0]), (std::vector<int64_t>{0, 1, 0, 1, 1, 1}));
  EXPECT_EQ(values(metric.states()[2]), (std::vector<double>{0.25, 0.75, 1}));
}

TEST_P(CalibrationErrors, RefuseWrongInputs) {
  MulticlassCalibrationError metric(
      MulticlassCalibrationErrorOptions(2).validate(Validate::kEager));
  const at::Tensor preds = scores({0.25, 0.75, 0.5, 0.5}).view({2, 2});
  metric.update(preds, labels({0, 1}));
  const auto before = values(metric.compute());
  EXPECT_ERROR(metric.update(preds * 3, labels({0, 2})), "MulticlassCalibrationError", "2 of 2",
               "from_logits");
  EXPECT_ERROR(metric.update(labels({0, 1}), labels({0, 1})), "preds", "Long", "scores");
  EXPECT_ERROR(metric.update(preds, labels({0})), "[2, 2]", "[1]");
  EXPECT_EQ(values(metric.compute()), before);
  EXPECT_ERROR(BinaryCalibrationError(BinaryCalibrationErrorOptions().n_bins(0)), "n_bins is 0");
  BinaryCalibrationError two(BinaryCalibrationErrorOptions().n_bins(2)), three;
  EXPECT_ERROR(two.merge(three), "n_bins=2", "n_bins=15");

  BinaryCalibrationError deferred(BinaryCalibrationErrorOptions().validate(Validate::kDeferred));
  deferred.update(scores({0.5, 1.5, NAN, 0.5}), labels({1, 1, 1, 3}));
  EXPECT_ERROR(deferred.check_valid(), "3 samples had");
  if (device().is_cpu())
    EXPECT_ERROR(deferred.compute(), "3 samples");
  else
    EXPECT_TRUE(std::isnan(values(deferred.compute())[0]));
}

TEST_P(CalibrationErrors, UpdateOnMetaTensors) {
  for (const Task task : {Task::kBinary, Task::kMulticlass}) {
    CalibrationArguments a{task};
    a.ignore_index = -1;
    const Batch batch = calibration_batch(5, a);
    const auto metric = make(a);
    for (int step = 0; step < 2; ++step)
      metric->update(batch.preds.to(at::kMeta), batch.target.to(at::kMeta));
    EXPECT_TRUE(metric->compute().is_meta());
  }
}

class CalibrationErrorsNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(CalibrationErrorsNoSync);

TEST_P(CalibrationErrorsNoSync, NeverWaitForTheDevice) {
  for (const Task task : {Task::kBinary, Task::kMulticlass})
    for (const CalibrationNorm norm : kNorms) {
      CalibrationArguments a{task, norm};
      a.ignore_index = -1;
      a.from_logits = norm == CalibrationNorm::kL1;
      Batch batch;
      {
        const test::HostAccessScope host_access;
        batch = calibration_batch(5, a).on(device());
      }
      const devsan::ExpectNoSync no_sync;
      const auto metric = make(a);
      for (int step = 0; step < 2; ++step)
        metric->update(batch.preds, batch.target);
      EXPECT_EQ(metric->compute().device(), device());
    }
}

} // namespace
} // namespace devsan::metrics
