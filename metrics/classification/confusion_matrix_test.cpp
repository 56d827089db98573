// The confusion matrix and the metrics that are functions of one.
#include "metrics/classification/confusion_matrix.h"

#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "metrics/classification/classification_reference.h"
#include "metrics/classification/cohen_kappa.h"
#include "metrics/classification/exact_match.h"
#include "metrics/classification/jaccard.h"
#include "metrics/classification/matthews_corr_coef.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"

namespace devsan::metrics {
namespace {

using test::values;
using Matrix = std::vector<std::vector<double>>; // [target][prediction]

// One matrix, or one for each label.
std::vector<Matrix> reference_matrices(Task task, const Batch &batch, const Arguments &a) {
  const size_t size = task == Task::kMulticlass ? a.classes : 2;
  std::vector<Matrix> matrices(task == Task::kMultilabel ? a.classes : 1,
                               Matrix(size, std::vector<double>(size)));
  for (const Outcome &outcome : reference_outcomes(task, batch, a))
    matrices[outcome.label][outcome.target][outcome.predicted] += 1;
  return matrices;
}

double sum(const std::vector<double> &x) {
  return std::accumulate(x.begin(), x.end(), 0.);
}
double ratio(double a, double b, double otherwise = 0) {
  return b == 0 ? otherwise : a / b;
}

std::vector<double> normalized(const std::vector<Matrix> &matrices, const Arguments &a) {
  std::vector<double> all;
  for (const Matrix &matrix : matrices)
    for (size_t i = 0; i < matrix.size(); ++i)
      for (size_t j = 0; j < matrix.size(); ++j) {
        double row = 0, column = 0, total = 0;
        for (size_t k = 0; k < matrix.size(); ++k) {
          row += matrix[i][k];
          column += matrix[k][j];
          total += sum(matrix[k]);
        }
        const double divisors[] = {1, row, column, total};
        all.push_back(ratio(matrix[i][j], divisors[static_cast<int>(a.normalize)]));
      }
  return all;
}

// From the definition: weighted disagreement over the same of all pairs of a target and a
// prediction.
std::vector<double> kappa(const std::vector<Matrix> &matrices, const Arguments &a) {
  const Matrix &m = matrices[0];
  double observed = 0, expected = 0, total = 0;
  for (const auto &row : m)
    total += sum(row);
  for (size_t i = 0; i < m.size(); ++i)
    for (size_t j = 0; j < m.size(); ++j) {
      const double distance = std::abs(static_cast<double>(i) - static_cast<double>(j));
      const double weights[] = {i == j ? 0. : 1., distance, distance * distance};
      const double weight = weights[static_cast<int>(a.weights)];
      double column = 0;
      for (const auto &row : m)
        column += row[j];
      observed += weight * m[i][j];
      expected += weight * sum(m[i]) * column / total;
    }
  return {1 - observed / expected};
}

// As the correlation of one-hot vectors, sample by sample, from centred sums.
std::vector<double> matthews(const std::vector<Matrix> &matrices, const Arguments &) {
  const size_t size = matrices[0].size();
  Matrix m(size, std::vector<double>(size));
  double total = 0;
  for (const Matrix &matrix : matrices)
    for (size_t i = 0; i < size; ++i)
      for (size_t j = 0; j < size; ++j) {
        m[i][j] += matrix[i][j];
        total += matrix[i][j];
      }
  double xy = 0, xx = 0, yy = 0;
  for (size_t k = 0; k < size; ++k) {
    double column = 0;
    for (const auto &row : m)
      column += row[k];
    const double x = sum(m[k]) / total, y = column / total;
    for (size_t i = 0; i < size; ++i)
      for (size_t j = 0; j < size; ++j) {
        xy += m[i][j] * ((i == k) - x) * ((j == k) - y);
        xx += m[i][j] * ((i == k) - x) * ((i == k) - x);
        yy += m[i][j] * ((j == k) - y) * ((j == k) - y);
      }
  }
  return {xy / std::sqrt(xx * yy)};
}

std::vector<double> jaccard(const std::vector<Matrix> &matrices, const Arguments &a) {
  std::vector<double> inner, outer, targets;
  for (const Matrix &m : matrices)
    for (size_t c = matrices.size() > 1 || m.size() == 2 ? 1 : 0; c < m.size(); ++c) {
      double column = 0;
      for (const auto &row : m)
        column += row[c];
      inner.push_back(m[c][c]);
      outer.push_back(sum(m[c]) + column - m[c][c]);
      targets.push_back(sum(m[c]));
    }
  const bool multiclass = matrices.size() == 1 && matrices[0].size() > 2;
  double num = 0, denom = 0, total = 0, weights = 0;
  std::vector<double> scores;
  for (size_t c = 0; c < inner.size(); ++c) {
    scores.push_back(ratio(inner[c], outer[c], a.zero_division));
    if (multiclass && a.ignore_index == static_cast<int64_t>(c))
      continue;
    const double weight = a.average == Average::kWeighted ? targets[c]
                          : multiclass                    ? outer[c] > 0
                                                          : 1;
    num += inner[c];
    denom += outer[c];
    total += weight * scores.back();
    weights += weight;
  }
  if (scores.size() == 1 || a.average == Average::kNone)
    return scores;
  return {a.average == Average::kMicro ? ratio(num, denom, a.zero_division)
                                       : ratio(total, weights)};
}

struct Case {
  std::vector<Maker> make; // by task
  std::vector<double> (*reference)(const std::vector<Matrix> &, const Arguments &);
  bool averages; // has the option
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {{DEVSAN_TASKS(ConfusionMatrix)}, normalized, false},
      {{make<BinaryCohenKappa>, make<MulticlassCohenKappa>}, kappa, false},
      {{DEVSAN_TASKS(MatthewsCorrCoef)}, matthews, false},
      {{DEVSAN_TASKS(JaccardIndex)}, jaccard, true},
  };
  return all;
}

// Everything that there is, for what does not need a reference.
std::vector<std::unique_ptr<SupervisedMetric>> all_metrics(Task task, const Arguments &a) {
  std::vector<std::unique_ptr<SupervisedMetric>> metrics;
  for (const Case &metric : cases())
    if (static_cast<size_t>(task) < metric.make.size())
      metrics.push_back(metric.make[static_cast<int>(task)](a));
  if (task == Task::kMulticlass)
    metrics.push_back(make<MulticlassExactMatch>(a));
  if (task == Task::kMultilabel)
    metrics.push_back(make<MultilabelExactMatch>(a));
  return metrics;
}

constexpr std::array kTasks = {Task::kBinary, Task::kMulticlass, Task::kMultilabel};

class ConfusionMatrix : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(6); }
  at::Tensor labels(std::vector<int64_t> numbers) const {
    return at::tensor(numbers, at::kLong).to(device());
  }
};
DEVSAN_DEVICE_SUITE(ConfusionMatrix);

// Every metric, task and form of input with each value of its own option, in three updates and as
// two metrics merged.
TEST_P(ConfusionMatrix, AndItsFunctionsEqualTheDefinition) {
  for (const Task task : kTasks)
    for (const Input input : {Input::kScores, Input::kLogits, Input::kLabels})
      for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {2}, {-100}})
        for (const int option : {0, 1, 2, 3}) {
          Arguments a;
          a.average = static_cast<Average>(option);
          a.normalize = static_cast<Normalize>(option);
          a.weights = static_cast<KappaWeights>(option % 3);
          a.ignore_index = ignore_index;
          a.from_logits = input == Input::kLogits;
          a.threshold = 0.4;
          a.zero_division = option % 2;
          const Batch all = random_batch(task, input, 30, a);
          const Batch parts[] = {all.narrow(0, 10).on(device()), all.narrow(10, 19).on(device()),
                                 all.narrow(29, 1).on(device())};
          const auto matrices = reference_matrices(task, all, a);
          for (const Case &metric : cases()) {
            if (static_cast<size_t>(task) >= metric.make.size())
              continue;
            const auto whole = metric.make[static_cast<int>(task)](a),
                       other = metric.make[static_cast<int>(task)](a);
            for (const Batch &part : parts)
              (&part == &parts[0] ? whole : other)->update(part.preds, part.target);
            whole->merge(*other);
            const at::Tensor result = whole->compute();
            EXPECT_EQ(result.device(), device());
            const auto actual = values(result), expected = metric.reference(matrices, a);
            ASSERT_EQ(actual.size(), expected.size()) << whole->name();
            for (size_t i = 0; i < actual.size(); ++i)
              EXPECT_NEAR(actual[i], expected[i], 1e-6)
                  << whole->name() << " option " << option << " input " << static_cast<int>(input)
                  << " ignore " << ignore_index.value_or(-1) << " at " << i;
          }
        }
}

TEST_P(ConfusionMatrix, HasTheShapeOfItsTask) {
  const at::Tensor target = labels({0, 1, 1, 0}), preds = labels({1, 1, 0, 0});
  const at::Tensor binary = binary_confusion_matrix(preds, target, {});
  EXPECT_EQ(binary.sizes(), at::IntArrayRef({2, 2}));
  EXPECT_EQ(binary.scalar_type(), at::kLong);
  EXPECT_EQ(multiclass_confusion_matrix(preds, target, 3).sizes(), at::IntArrayRef({3, 3}));
  const at::Tensor multilabel =
      multilabel_confusion_matrix(preds.view({2, 2}), target.view({2, 2}),
                                  MultilabelConfusionMatrixOptions(2).normalize(Normalize::kAll));
  EXPECT_EQ(multilabel.sizes(), at::IntArrayRef({2, 2, 2}));
  EXPECT_EQ(multilabel.scalar_type(), at::kFloat);
}

// Where no correlation is defined. scikit-learn 1.9 gives 0 throughout, TorchMetrics 1.9 numbers of
// no meaning in the third and fourth.
TEST_P(ConfusionMatrix, MatthewsOfOneClassIsItsLimit) {
  const auto binary = [&](std::vector<int64_t> preds, std::vector<int64_t> target) {
    return values(binary_matthews_corrcoef(labels(preds), labels(target), {}))[0];
  };
  EXPECT_EQ(binary({1, 1, 1}, {1, 1, 1}), 1);
  EXPECT_EQ(binary({1, 1, 1}, {0, 0, 0}), -1);
  EXPECT_EQ(binary({1, 1, 1, 1}, {1, 1, 1, 0}), 0);
  EXPECT_EQ(binary({0, 0, 0, 1}, {0, 0, 0, 0}), 0);
  EXPECT_EQ(values(multiclass_matthews_corrcoef(labels({2, 2}), labels({2, 2}), 3))[0], 0);
}

TEST_P(ConfusionMatrix, KappaOfOneClassIsNotDefined) {
  EXPECT_TRUE(std::isnan(values(binary_cohen_kappa(labels({1, 1}), labels({1, 1}), {}))[0]));
}

// Samples by hand: `target` [4, 2] with class 9 ignored; one right, one half ignored and otherwise
// right, one wrong, one ignored altogether, which is right.
TEST_P(ConfusionMatrix, ExactMatchNeedsAllOfASample) {
  const at::Tensor target = labels({0, 1, 2, 9, 1, 1, 9, 9}).view({4, 2});
  const at::Tensor preds = labels({0, 1, 2, 2, 1, 0, 1, 1}).view({4, 2});
  const auto options = MulticlassExactMatchOptions(3).ignore_index(9);
  EXPECT_FLOAT_EQ(values(multiclass_exact_match(preds, target, options))[0], 3. / 4);
  MulticlassExactMatch strict(MulticlassExactMatchOptions(3).validate(Validate::kDeferred));
  strict.update(preds, target);
  EXPECT_EQ(values<int64_t>(strict.states()[0]), (std::vector<int64_t>{1, 2}));
  strict.update(at::zeros({5, 0}, target.options()), at::zeros({5, 0}, target.options()));
  EXPECT_EQ(values<int64_t>(strict.states()[0]), (std::vector<int64_t>{1, 2}));
}

TEST_P(ConfusionMatrix, ExactMatchEqualsTheDefinition) {
  for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {0}, {-100}})
    for (const Task task : {Task::kMulticlass, Task::kMultilabel}) {
      Arguments a;
      a.classes = 3;
      a.ignore_index = ignore_index;
      const Batch all = random_batch(task, Input::kScores, 60, a);
      std::set<int64_t> wrong;
      for (const Outcome &outcome : reference_outcomes(task, all, a))
        if (outcome.predicted != outcome.target)
          wrong.insert(outcome.group);
      const double samples = task == Task::kMulticlass ? 60 : 120; // labels: parts
      const double right = samples - static_cast<double>(wrong.size());
      const auto metric =
          task == Task::kMulticlass ? make<MulticlassExactMatch>(a) : make<MultilabelExactMatch>(a);
      for (const int64_t start : {0, 20, 40})
        metric->update(all.narrow(start, 20).on(device()).preds,
                       all.narrow(start, 20).on(device()).target);
      EXPECT_NEAR(values(metric->compute())[0], right / samples, 1e-6) << metric->name();
    }
}

TEST_P(ConfusionMatrix, TakesHalfPrecisionAndEmptyBatches) {
  const Arguments a;
  for (const Task task : kTasks)
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
      Batch batch = random_batch(task, Input::kScores, 50, a);
      batch.preds = batch.preds.to(dtype);
      const Batch wide = {batch.preds.to(at::kDouble), batch.target};
      const auto narrow_metrics = all_metrics(task, a), wide_metrics = all_metrics(task, a);
      for (size_t i = 0; i < narrow_metrics.size(); ++i) {
        for (const Batch &part : {batch.narrow(0, 0), batch})
          narrow_metrics[i]->update(part.preds.to(device()), part.target.to(device()));
        wide_metrics[i]->update(wide.preds.to(device()), wide.target.to(device()));
        EXPECT_EQ(values(narrow_metrics[i]->compute()), values(wide_metrics[i]->compute()))
            << narrow_metrics[i]->name();
      }
    }
}

TEST_P(ConfusionMatrix, CountsWhatIsOutOfRange) {
  MulticlassConfusionMatrix eager(MulticlassConfusionMatrixOptions(2).validate(Validate::kEager));
  EXPECT_ERROR(eager.update(labels({0, 1}), labels({0, 2})), "MulticlassConfusionMatrix", "1 of 2",
               "[0, 2)");
  EXPECT_ERROR(eager.compute(), "before the first update");
  MulticlassConfusionMatrix deferred(
      MulticlassConfusionMatrixOptions(2).validate(Validate::kDeferred));
  deferred.update(labels({0, 1, 5}), labels({0, 2, 0}));
  EXPECT_EQ(values<int64_t>(deferred.states()[0]), (std::vector<int64_t>{1, 0, 0, 0}));
  EXPECT_ERROR(deferred.check_valid(), "2 samples");
  EXPECT_ERROR(MulticlassCohenKappa(1), "MulticlassCohenKappa", "num_classes");
}

TEST_P(ConfusionMatrix, UpdateRunsOnMetaTensors) {
  Arguments a;
  a.validate = Validate::kEager;
  a.ignore_index = -1;
  for (const Task task : kTasks) {
    const Batch batch = random_batch(task, Input::kScores, 5, a).on(at::kMeta);
    for (const auto &metric : all_metrics(task, a)) {
      metric->update(batch.preds, batch.target);
      EXPECT_TRUE(metric->compute().is_meta());
    }
  }
}

class ConfusionMatrixNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(ConfusionMatrixNoSync);

TEST_P(ConfusionMatrixNoSync, NeverWaitsForTheDevice) {
  for (const Task task : kTasks)
    for (const Input input : {Input::kScores, Input::kLabels})
      for (const int option : {0, 1, 2, 3}) {
        Arguments a;
        a.average = static_cast<Average>(option);
        a.normalize = static_cast<Normalize>(option);
        a.weights = static_cast<KappaWeights>(option % 3);
        a.ignore_index = 1;
        Batch batch;
        {
          const test::HostAccessScope host_access;
          batch = random_batch(task, input, 8, a).on(device());
        }
        const devsan::ExpectNoSync no_sync;
        for (const auto &metric : all_metrics(task, a)) {
          for (int step = 0; step < 2; ++step)
            metric->update(batch.preds, batch.target);
          EXPECT_EQ(metric->compute().device(), device());
        }
      }
}

} // namespace
} // namespace devsan::metrics
