#include "metrics/classification/accuracy.h"

#include <cmath>
#include <numeric>
#include <optional>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

// Sample by sample, from the definition; `scores` are rows of `classes` numbers.
std::vector<double> reference(const std::vector<double> &scores, const std::vector<int64_t> &target,
                              int64_t classes, Average average, int64_t top_k,
                              std::optional<int64_t> ignore_index) {
  std::vector<double> correct(classes), targets(classes), predictions(classes);
  for (size_t i = 0; i < target.size(); ++i) {
    if (ignore_index && target[i] == *ignore_index)
      continue;
    const double *row = &scores[i * classes];
    const auto rank =
        std::count_if(row, row + classes, [&](double score) { return score > row[target[i]]; });
    const int64_t predicted = rank < top_k ? target[i] : std::max_element(row, row + classes) - row;
    correct[target[i]] += predicted == target[i];
    targets[target[i]] += 1;
    predictions[predicted] += 1;
  }
  const auto ratio = [](double a, double b) { return b == 0 ? 0 : a / b; };
  const auto sum = [](const std::vector<double> &x) {
    return std::accumulate(x.begin(), x.end(), 0.);
  };
  std::vector<double> score(classes);
  double macro = 0, appearing = 0, weighted = 0;
  for (int64_t c = 0; c < classes; ++c) {
    score[c] = ratio(correct[c], targets[c]);
    const bool appears = targets[c] + (top_k == 1 ? predictions[c] : 0) > 0;
    macro += appears ? score[c] : 0;
    appearing += appears;
    weighted += score[c] * targets[c];
  }
  switch (average) {
  case Average::kMicro:
    return {ratio(sum(correct), sum(targets))};
  case Average::kMacro:
    return {ratio(macro, appearing)};
  case Average::kWeighted:
    return {ratio(weighted, sum(targets))};
  case Average::kNone:
    return score;
  }
  return {};
}

class Accuracy : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(3); }
  at::Tensor labels(std::vector<int64_t> numbers) const {
    return at::tensor(numbers, at::kLong).to(device());
  }
};
DEVSAN_DEVICE_SUITE(Accuracy);

TEST_P(Accuracy, EqualsTheDefinitionForAllOptions) {
  constexpr int64_t kClasses = 7;
  for (const Average average :
       {Average::kMicro, Average::kMacro, Average::kWeighted, Average::kNone})
    for (const int64_t top_k : {1, 3})
      for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {2}, {-100}}) {
        MulticlassAccuracy metric(
            MulticlassAccuracyOptions(kClasses).average(average).top_k(top_k).ignore_index(
                ignore_index));
        const at::Tensor scores = at::randn({60, kClasses});
        at::Tensor target =
            at::randint(0, kClasses - 1, {60}, at::kLong); // the last class has no targets
        if (ignore_index == -100)
          target.narrow(0, 5, 9).fill_(-100);
        for (int64_t start = 0; start < 60; start += 20)
          metric.update(scores.narrow(0, start, 20).to(device()),
                        target.narrow(0, start, 20).to(device()));
        const at::Tensor result = metric.compute();
        const auto expected = reference(values(scores), values<int64_t>(target), kClasses, average,
                                        top_k, ignore_index);
        EXPECT_EQ(result.device(), device());
        EXPECT_EQ(result.scalar_type(), at::kFloat);
        EXPECT_EQ(result.dim(), average == Average::kNone ? 1 : 0);
        const auto actual = values(result);
        ASSERT_EQ(actual.size(), expected.size());
        for (size_t i = 0; i < actual.size(); ++i)
          EXPECT_NEAR(actual[i], expected[i], 1e-6)
              << static_cast<int>(average) << " top " << top_k;
      }
}

TEST_P(Accuracy, TakesLabelsAndExtraDimensions) {
  const at::Tensor scores = at::randn({4, 5, 3, 2}).to(device());
  const at::Tensor target = at::randint(0, 5, {4, 3, 2}, at::kLong).to(device());
  MulticlassAccuracy from_scores(5), from_labels(5);
  from_scores.update(scores, target);
  from_labels.update(scores.argmax(1).to(at::kInt), target.to(at::kByte));
  const auto expected =
      reference(values(scores.movedim(1, -1)), values<int64_t>(target), 5, Average::kMacro, 1, {});
  EXPECT_NEAR(values(from_scores.compute())[0], expected[0], 1e-6);
  EXPECT_NEAR(values(from_labels.compute())[0], expected[0], 1e-6);
}

TEST_P(Accuracy, TakesHalfPrecisionAndEmptyBatches) {
  MulticlassAccuracy metric(MulticlassAccuracyOptions(4).average(Average::kMicro).top_k(2));
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16})
    metric.update(at::eye(4).to(device(), dtype), labels({0, 1, 2, 3}));
  metric.update(at::empty({0, 4}).to(device()), labels({}));
  EXPECT_EQ(values(metric.compute())[0], 1);
  EXPECT_EQ(values<int64_t>(metric.states()[0])[1], 8);
}

TEST_P(Accuracy, CountsBeyondWhatFloatHolds) {
  MulticlassAccuracy metric(MulticlassAccuracyOptions(2).average(Average::kMicro));
  metric.update(labels({0}), labels({0}));
  for (int doubling = 0; doubling < 26; ++doubling)
    metric.merge(metric);
  metric.update(labels({0}), labels({1}));
  const auto counts = values<int64_t>(metric.states()[0]);
  EXPECT_EQ(counts[0], int64_t{1} << 26);
  EXPECT_EQ(counts[1], (int64_t{1} << 26) + 1);
}

TEST_P(Accuracy, EagerValidationLeavesTheStates) {
  MulticlassAccuracy metric(MulticlassAccuracyOptions(3).validate(Validate::kEager));
  metric.update(labels({0, 1}), labels({0, 1}));
  EXPECT_ERROR(metric.update(labels({0, 1, 2}), labels({0, 3, -1})), "MulticlassAccuracy", "2 of 3",
               "[0, 3)", "ignore_index");
  EXPECT_ERROR(metric.update(labels({7}), labels({1})), "1 of 1", "predicted label");
  EXPECT_EQ(values(metric.compute())[0], 1);
}

TEST_P(Accuracy, DeferredValidationCountsOnTheDevice) {
  MulticlassAccuracy metric(
      MulticlassAccuracyOptions(3).average(Average::kMicro).validate(Validate::kDeferred));
  metric.update(labels({0, 1, 2, 0}), labels({0, 1, 1, 5}));
  metric.update(labels({9}), labels({1}));
  EXPECT_EQ(values<int64_t>(metric.states()[0]), (std::vector<int64_t>{2, 3}));
  EXPECT_ERROR(metric.check_valid(), "MulticlassAccuracy", "2 samples", "[0, 3)", "ignore_index");
  if (device().is_cpu())
    EXPECT_ERROR(metric.compute(), "MulticlassAccuracy", "2 samples", "ignore_index");
  else
    EXPECT_TRUE(std::isnan(values(metric.compute())[0]));
}

TEST_P(Accuracy, RefusesWrongInputs) {
  MulticlassAccuracy metric(MulticlassAccuracyOptions(3)),
      top_two(MulticlassAccuracyOptions(3).top_k(2));
  const auto on = at::TensorOptions().device(device());
  EXPECT_ERROR(metric.update(at::ones({4, 5}, on), labels({0, 1, 2, 0})), "MulticlassAccuracy",
               "[4, 5]", "[4, 3]");
  EXPECT_ERROR(metric.update(labels({0, 1}), labels({0})), "[2]", "[1]", "same shape");
  EXPECT_ERROR(metric.update(at::ones({1, 3}, on), at::ones({1}, on)), "target", "Float",
               "int or long");
  EXPECT_ERROR(metric.update(at::ones({1}, on.dtype(at::kBool)), labels({0})), "preds", "Bool");
  EXPECT_ERROR(top_two.update(labels({0}), labels({0})), "top_k", "scores");
  EXPECT_ERROR(MulticlassAccuracy(MulticlassAccuracyOptions(1)), "num_classes", "1");
  EXPECT_ERROR(MulticlassAccuracy(MulticlassAccuracyOptions(3).top_k(4)), "top_k", "4", "3");
  EXPECT_ERROR(metric.compute(), "MulticlassAccuracy", "before the first update");
}

TEST_P(Accuracy, UpdateRunsOnMetaTensors) {
  for (const Average average : {Average::kMicro, Average::kMacro}) {
    MulticlassAccuracy metric(
        MulticlassAccuracyOptions(3).average(average).validate(Validate::kEager));
    metric.update(at::empty({5, 3}, at::kMeta),
                  at::empty({5}, at::TensorOptions(at::kMeta).dtype(at::kLong)));
    EXPECT_EQ(metric.compute().dim(), 0);
  }
}

class AccuracyNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(AccuracyNoSync);

TEST_P(AccuracyNoSync, NeverWaitsForTheDevice) {
  at::Tensor scores, target;
  {
    const test::HostAccessScope host_access;
    scores = at::randn({32, 5}).to(device());
    target = at::randint(0, 5, {32}, at::kLong).to(device());
  }
  const devsan::ExpectNoSync no_sync;
  for (const Average average :
       {Average::kMicro, Average::kMacro, Average::kWeighted, Average::kNone})
    for (const int64_t top_k : {1, 2}) {
      MulticlassAccuracy metric(
          MulticlassAccuracyOptions(5).average(average).top_k(top_k).ignore_index(3));
      for (int step = 0; step < 3; ++step)
        metric.update(scores, target);
      EXPECT_EQ(metric.compute().device(), device());
    }
}

} // namespace
} // namespace devsan::metrics
