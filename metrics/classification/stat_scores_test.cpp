// All metrics of the family, each for the three tasks.
#include "metrics/classification/stat_scores.h"

#include <cmath>

#include <gtest/gtest.h>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/classification_reference.h"
#include "metrics/classification/dice.h"
#include "metrics/classification/f_beta.h"
#include "metrics/classification/hamming_distance.h"
#include "metrics/classification/negative_predictive_value.h"
#include "metrics/classification/precision.h"
#include "metrics/classification/recall.h"
#include "metrics/classification/specificity.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"

namespace devsan::metrics {
namespace {

using test::values;

constexpr std::array kTasks = {Task::kBinary, Task::kMulticlass, Task::kMultilabel};
constexpr std::array kAverages = {Average::kMicro, Average::kMacro, Average::kWeighted,
                                  Average::kNone};

struct Ratio {
  double num, denom;
};

struct Case {
  const char *name;
  std::array<Maker, 3> make; // by task
  Ratio (*definition)(const ClassCounts &, Task);
  bool complement = false;      // 1 - ratio
  bool top_k_by_target = false; // see StatCounts::Appearing
  bool has_zero_division = true;
};

Ratio accuracy(const ClassCounts &c, Task task) {
  return task == Task::kMulticlass ? Ratio{c.tp, c.tp + c.fn}
                                   : Ratio{c.tp + c.tn, c.tp + c.fp + c.tn + c.fn};
}

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"Accuracy", {DEVSAN_TASKS(Accuracy)}, accuracy, false, true, false},
      {"HammingDistance", {DEVSAN_TASKS(HammingDistance)}, accuracy, true, false, false},
      {"Precision",
       {DEVSAN_TASKS(Precision)},
       [](const ClassCounts &c, Task) { return Ratio{c.tp, c.tp + c.fp}; },
       false,
       true},
      {"Recall",
       {DEVSAN_TASKS(Recall)},
       [](const ClassCounts &c, Task) { return Ratio{c.tp, c.tp + c.fn}; },
       false,
       true},
      {"Specificity",
       {DEVSAN_TASKS(Specificity)},
       [](const ClassCounts &c, Task) { return Ratio{c.tn, c.tn + c.fp}; },
       false,
       false,
       false},
      {"NegativePredictiveValue",
       {DEVSAN_TASKS(NegativePredictiveValue)},
       [](const ClassCounts &c, Task) { return Ratio{c.tn, c.tn + c.fn}; },
       false,
       true},
      {"F1Score",
       {DEVSAN_TASKS(F1Score)},
       [](const ClassCounts &c, Task) { return Ratio{2 * c.tp, 2 * c.tp + c.fp + c.fn}; }},
      {"Dice",
       {DEVSAN_TASKS(Dice)},
       [](const ClassCounts &c, Task) { return Ratio{2 * c.tp, c.tp + c.fp + c.tp + c.fn}; }},
      {"FBetaScore",
       {DEVSAN_TASKS(FBetaScore)}, // of beta 2
       [](const ClassCounts &c, Task) { return Ratio{5 * c.tp, 5 * c.tp + 4 * c.fn + c.fp}; }},
  };
  return all;
}

std::vector<double> reference(const Case &metric, Task task, const Batch &batch,
                              const Arguments &a) {
  const std::vector<ClassCounts> counts = reference_counts(task, batch, a);
  const auto score = [&](const ClassCounts &c) {
    const Ratio ratio = metric.definition(c, task);
    const double value = ratio.denom == 0 ? (metric.has_zero_division ? a.zero_division : 0)
                                          : ratio.num / ratio.denom;
    return metric.complement ? 1 - value : value;
  };
  if (task == Task::kBinary)
    return {score(counts[0])};
  std::vector<double> scores;
  ClassCounts total;
  double sum = 0, weights = 0;
  for (const ClassCounts &c : counts) {
    scores.push_back(score(c));
    total = {total.tp + c.tp, total.fp + c.fp, total.tn + c.tn, total.fn + c.fn};
    const double targets = c.tp + c.fn;
    const bool appears = task == Task::kMultilabel ||
                         (metric.top_k_by_target && a.top_k > 1 ? targets > 0 : targets + c.fp > 0);
    const double weight = a.average == Average::kWeighted ? targets : appears;
    sum += weight * scores.back();
    weights += weight;
  }
  switch (a.average) {
  case Average::kMicro:
    return {score(total)};
  case Average::kNone:
    return scores;
  case Average::kMacro:
  case Average::kWeighted:
    break;
  }
  return {weights == 0 ? 0 : sum / weights};
}

void expect_near(const at::Tensor &result, const std::vector<double> &expected,
                 const std::string &what) {
  const auto actual = values(result);
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-6) << what << " at " << i;
}

class StatScores : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(5); }
  at::Tensor labels(std::vector<int64_t> numbers) const {
    return at::tensor(numbers, at::kLong).to(device());
  }
  at::Tensor scores(std::vector<double> numbers) const {
    return at::tensor(numbers, at::kFloat).to(device());
  }
};
DEVSAN_DEVICE_SUITE(StatScores);

// Every metric, average and form of input with arguments that vary along, in three updates and as
// two metrics merged.
TEST_P(StatScores, EqualsTheDefinition) {
  for (const Task task : kTasks)
    for (const Input input : {Input::kScores, Input::kLogits, Input::kLabels})
      for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {1}, {-100}})
        for (const Average average : kAverages) {
          if (task == Task::kBinary && average != Average::kNone)
            continue;
          Arguments a;
          a.average = average;
          a.ignore_index = ignore_index;
          a.threshold = ignore_index ? 0.3 : 0.5;
          a.from_logits = input == Input::kLogits;
          a.zero_division = ignore_index == 1 ? 1 : 0;
          a.top_k = task == Task::kMulticlass && input == Input::kLogits ? 2 : 1;
          const Batch all = random_batch(task, input, 30, a);
          const Batch parts[] = {all.narrow(0, 10).on(device()), all.narrow(10, 19).on(device()),
                                 all.narrow(29, 1).on(device())};
          for (const Case &metric : cases()) {
            const auto whole = metric.make[static_cast<int>(task)](a),
                       other = metric.make[static_cast<int>(task)](a);
            for (const Batch &part : parts)
              (&part == &parts[0] ? whole : other)->update(part.preds, part.target);
            whole->merge(*other);
            const at::Tensor result = whole->compute();
            EXPECT_EQ(result.device(), device());
            EXPECT_EQ(result.scalar_type(), at::kFloat);
            EXPECT_EQ(result.dim(), task != Task::kBinary && average == Average::kNone);
            expect_near(result, reference(metric, task, all, a),
                        c10::str(whole->name(), " average ", static_cast<int>(average), " input ",
                                 static_cast<int>(input), " ignore ", ignore_index.value_or(-1)));
          }
        }
}

TEST_P(StatScores, AreTheCounts) {
  constexpr std::array<Maker, 3> makers = {DEVSAN_TASKS(StatScores)};
  for (const Task task : kTasks)
    for (const Average average : kAverages) {
      Arguments a;
      a.average = average;
      a.ignore_index = 0;
      const Batch batch = random_batch(task, Input::kScores, 40, a);
      const auto metric = makers[static_cast<int>(task)](a);
      metric->update(batch.preds.to(device()), batch.target.to(device()));
      const at::Tensor result = metric->compute();

      std::vector<std::array<double, 5>> rows;
      double support = 0;
      for (const ClassCounts &c : reference_counts(task, batch, a)) {
        rows.push_back({c.tp, c.fp, c.tn, c.fn, c.tp + c.fn});
        support += c.tp + c.fn;
      }
      std::vector<double> expected(5);
      const bool each = average == Average::kNone || task == Task::kBinary;
      const bool sum = average == Average::kMicro;
      for (const auto &row : rows)
        for (int i = 0; i < 5; ++i)
          expected[i] += row[i] * (sum                             ? 1
                                   : average == Average::kWeighted ? row[4] / support
                                                                   : 1. / rows.size());
      if (each) {
        expected.clear();
        for (const auto &row : rows)
          expected.insert(expected.end(), row.begin(), row.end());
      }
      EXPECT_EQ(result.scalar_type(), each || sum ? at::kLong : at::kFloat);
      EXPECT_EQ(result.dim(), each && task != Task::kBinary ? 2 : 1);
      const auto actual = values(result);
      ASSERT_EQ(actual.size(), expected.size()) << metric->name();
      for (size_t i = 0; i < actual.size(); ++i)
        EXPECT_NEAR(actual[i], expected[i], 1e-5) << metric->name() << i;
    }
}

TEST_P(StatScores, TakesHalfPrecisionAndEmptyBatches) {
  const Arguments a;
  for (const Task task : kTasks)
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
      Batch batch = random_batch(task, Input::kScores, 50, a);
      batch.preds = batch.preds.to(dtype);
      for (const Case &metric : cases()) {
        const auto any = metric.make[static_cast<int>(task)](a);
        any->update(batch.narrow(0, 0).on(device()).preds, batch.narrow(0, 0).on(device()).target);
        EXPECT_FALSE(values(any->compute())[0] > 0 && !metric.complement) << any->name();
        any->update(batch.preds.to(device()), batch.target.to(device()));
        expect_near(any->compute(), reference(metric, task, batch, a), any->name());
      }
    }
}

// The first of two scores of one value stands for its class; a score equal to the threshold is not
// above it; logits are told from probabilities by the option alone.
TEST_P(StatScores, DecideEdgesAsDocumented) {
  EXPECT_EQ(values<int64_t>(multiclass_stat_scores(
                at::tensor({0.5, 0.5, 0.1}).view({1, 3}).to(device()), labels({0}),
                MulticlassStatScoresOptions(3).average(Average::kMicro)))[0],
            1);
  const auto positives = [&](std::vector<double> numbers, const BinaryStatScoresOptions &options) {
    const at::Tensor target = labels(std::vector<int64_t>(numbers.size(), 1));
    return values<int64_t>(binary_stat_scores(scores(numbers), target, options))[0];
  };
  EXPECT_EQ(positives({0.3, 0.30001}, BinaryStatScoresOptions().threshold(0.3)), 1);
  EXPECT_EQ(positives({0.1, 0.9}, BinaryStatScoresOptions().from_logits(true)), 2);
  EXPECT_EQ(positives({-50, 0, 50}, BinaryStatScoresOptions().from_logits(true).threshold(0)), 3);
  EXPECT_EQ(positives({-50, 0, 50}, BinaryStatScoresOptions().from_logits(true).threshold(1)), 0);
}

TEST_P(StatScores, TakesBoolLabels) {
  const at::Tensor target = labels({0, 1, 1}), preds = labels({1, 1, 0});
  EXPECT_EQ(values(binary_precision(preds.to(at::kBool), target.to(at::kBool), {}))[0], 0.5);
}

TEST_P(StatScores, ValidatesAtOnceWithTheStatesUntouched) {
  const auto eager = BinaryStatScoresOptions().validate(Validate::kEager);
  BinaryPrecision probabilities(BinaryPrecisionOptions().validate(Validate::kEager));
  probabilities.update(scores({0.9, 0.1}), labels({1, 0}));
  EXPECT_ERROR(probabilities.update(scores({0.9, 1.5, -0.1, NAN}), labels({1, 0, 0, 1})),
               "BinaryPrecision", "3 of 4", "no probability", "from_logits");
  EXPECT_ERROR(probabilities.update(scores({0.9}), labels({2})), "1 of 1", "other than 0 and 1",
               "ignore_index");
  EXPECT_ERROR(probabilities.update(labels({-1}), labels({1})), "1 of 1", "predicted label");
  EXPECT_EQ(values(probabilities.compute())[0], 1);
  EXPECT_EQ(values<int64_t>(probabilities.states()[0]), (std::vector<int64_t>{1, 1, 1, 2}));

  BinaryAccuracy logits(BinaryAccuracyOptions(eager).from_logits(true));
  EXPECT_ERROR(logits.update(scores({8, NAN}), labels({1, 0})), "BinaryAccuracy", "1 of 2", "NaN");
  MultilabelRecall multilabel(MultilabelRecallOptions(2).validate(Validate::kEager));
  EXPECT_ERROR(multilabel.update(scores({0.1, 7}).view({1, 2}), labels({0, 1}).view({1, 2})),
               "MultilabelRecall", "1 of 2");
  // What is ignored need not be valid.
  BinaryAccuracy ignoring(BinaryAccuracyOptions(eager).ignore_index(-1));
  ignoring.update(scores({0.9, NAN}), labels({1, -1}));
  EXPECT_EQ(values(ignoring.compute())[0], 1);
}

TEST_P(StatScores, CountsWhatIsOutOfRangeOnTheDevice) {
  BinaryF1Score metric(BinaryF1ScoreOptions().validate(Validate::kDeferred));
  BinaryStatScores counts(BinaryStatScoresOptions().validate(Validate::kDeferred));
  for (SupervisedMetric *any :
       {static_cast<SupervisedMetric *>(&metric), static_cast<SupervisedMetric *>(&counts)})
    any->update(scores({0.9, 0.8, 2, 0.1}), labels({1, 7, 0, 0}));
  EXPECT_EQ(values<int64_t>(metric.states()[0]), (std::vector<int64_t>{1, 1, 1, 2}));
  EXPECT_ERROR(metric.check_valid(), "BinaryF1Score", "2 samples had", "left out");
  if (device().is_cpu()) {
    EXPECT_ERROR(metric.compute(), "2 samples");
  } else {
    EXPECT_TRUE(std::isnan(values(metric.compute())[0]));
    EXPECT_EQ(values<int64_t>(counts.compute()), std::vector<int64_t>(5, -1));
  }
}

TEST_P(StatScores, RefusesWrongInputsAndOptions) {
  const auto on = at::TensorOptions().device(device());
  BinaryRecall binary;
  MultilabelRecall multilabel(3);
  EXPECT_ERROR(binary.update(scores({1, 0}), labels({1})), "BinaryRecall", "[2]", "[1]",
               "same shape");
  EXPECT_ERROR(BinaryAUROC().update(scores({1}), scores({1})), "target", "Float", "int or long");
  EXPECT_ERROR(binary.update(scores({1}).to(at::kComplexFloat), labels({1})), "preds", "Complex");
  EXPECT_ERROR(binary.update(at::ones({}, on), at::ones({}, on.dtype(at::kLong))), "[N, ...]");
  EXPECT_ERROR(multilabel.update(at::ones({2, 4}, on), at::ones({2, 4}, on.dtype(at::kLong))),
               "MultilabelRecall", "num_labels 3", "[N, 3, ...]");
  EXPECT_FALSE(binary.device());
  EXPECT_ERROR(BinaryRecall(BinaryRecallOptions().threshold(1.5)), "BinaryRecall", "threshold",
               "1.5");
  EXPECT_ERROR(BinaryRecall(BinaryRecallOptions().zero_division(-1)), "zero_division", "-1");
  EXPECT_ERROR(BinaryFBetaScore(BinaryFBetaScoreOptions(0)), "BinaryFBetaScore", "beta", "0");
  EXPECT_ERROR(BinaryFBetaScore(BinaryFBetaScoreOptions(1e200)), "beta is 1e+200", "finite");
  EXPECT_ERROR(MultilabelRecall(1), "MultilabelRecall", "num_labels", "1");
  EXPECT_ERROR(MulticlassRecall(MulticlassRecallOptions(3).top_k(4)), "top_k", "4", "3");
}

TEST_P(StatScores, MergesOnlyEqualOptions) {
  BinaryFBetaScore one(BinaryFBetaScoreOptions(1)), two(BinaryFBetaScoreOptions(2));
  BinaryRecall low(BinaryRecallOptions().threshold(0.1)), plain;
  EXPECT_ERROR(one.merge(two), "beta=1", "beta=2");
  EXPECT_ERROR(low.merge(plain), "threshold=0.1", "threshold=0.5");
}

TEST_P(StatScores, UpdateRunsOnMetaTensors) {
  for (const Task task : kTasks)
    for (const Average average : kAverages)
      for (const Case &metric : cases()) {
        Arguments a;
        a.average = average;
        a.validate = Validate::kEager;
        a.ignore_index = -1;
        const Batch batch = random_batch(task, Input::kScores, 5, a);
        const auto any = metric.make[static_cast<int>(task)](a);
        any->update(batch.preds.to(at::kMeta), batch.target.to(at::kMeta));
        EXPECT_TRUE(any->compute().is_meta());
      }
}

class StatScoresNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(StatScoresNoSync);

TEST_P(StatScoresNoSync, NeverWaitsForTheDevice) {
  for (const Task task : kTasks)
    for (const Input input : {Input::kScores, Input::kLogits, Input::kLabels})
      for (const Average average : kAverages) {
        Arguments a;
        a.average = average;
        a.ignore_index = 2;
        a.from_logits = input == Input::kLogits;
        a.top_k = task == Task::kMulticlass && input == Input::kLogits ? 2 : 1;
        Batch batch;
        {
          const test::HostAccessScope host_access;
          batch = random_batch(task, input, 8, a).on(device());
        }
        const devsan::ExpectNoSync no_sync;
        std::vector<std::unique_ptr<SupervisedMetric>> metrics;
        for (const Case &metric : cases())
          metrics.push_back(metric.make[static_cast<int>(task)](a));
        constexpr std::array<Maker, 3> counts = {DEVSAN_TASKS(StatScores)};
        metrics.push_back(counts[static_cast<int>(task)](a));
        for (const auto &metric : metrics) {
          for (int step = 0; step < 2; ++step)
            metric->update(batch.preds, batch.target);
          EXPECT_EQ(metric->compute().device(), device());
        }
      }
}

} // namespace
} // namespace devsan::metrics
