// All metrics of the family, each for its tasks, with thresholds and without, against loops over
// thresholds and samples.
#include "metrics/classification/curve_metric.h"

#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "metrics/classification/auroc.h"
#include "metrics/classification/average_precision.h"
#include "metrics/classification/classification_reference.h"
#include "metrics/classification/eer.h"
#include "metrics/classification/precision_recall_curve.h"
#include "metrics/classification/recall_fixed_precision.h"
#include "metrics/classification/roc.h"
#include "metrics/classification/sensitivity_specificity.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"

namespace devsan::metrics {
namespace {

using test::values;

constexpr std::array kTasks = {Task::kBinary, Task::kMulticlass, Task::kMultilabel};

struct CurveArguments : Arguments {
  std::optional<Thresholds> thresholds = Thresholds(9); // none: exact
  double minimum = 0.6;                                 // precision, specificity
  std::optional<double> max_fpr = {};                   // binary AUROC
};

template <class M> std::unique_ptr<SupervisedMetric> make_curve(const CurveArguments &a) {
  using Options = typename M::Options;
  constexpr bool has_minimum =
      requires(Options o) { o.min_precision(); } || requires(Options o) { o.min_specificity(); };
  auto options = [&] {
    if constexpr (Options::kTask == Task::kBinary && has_minimum)
      return a.thresholds ? Options(a.minimum, *a.thresholds) : Options(a.minimum);
    else if constexpr (Options::kTask == Task::kBinary)
      return a.thresholds ? Options(*a.thresholds) : Options();
    else if constexpr (has_minimum)
      return a.thresholds ? Options(a.classes, a.minimum, *a.thresholds)
                          : Options(a.classes, a.minimum);
    else
      return a.thresholds ? Options(a.classes, *a.thresholds) : Options(a.classes);
  }();
  options.ignore_index(a.ignore_index).validate(a.validate).from_logits(a.from_logits);
  if constexpr (requires { options.average(); })
    if (options.average() != Average::kNone) // as of curves, which have a test of their own
      options.average(a.average);
  if constexpr (requires { options.max_fpr(); })
    options.max_fpr(a.max_fpr);
  return std::make_unique<M>(options);
}

// The counts of one class at each threshold.
struct Row {
  std::vector<double> thresholds, tp, fp, precision, recall, fpr, specificity;
  double positives = 0, negatives = 0;
};

std::vector<Row> reference_rows(Task task, const Batch &batch, const CurveArguments &a) {
  const int64_t classes = task == Task::kBinary ? 1 : a.classes;
  const auto last = [&](const at::Tensor &x, bool has_classes) {
    return values(has_classes ? x.movedim(1, -1) : x);
  };
  const auto scores = last(batch.preds, classes > 1);
  const auto target = last(batch.target, task == Task::kMultilabel);
  const size_t rows = task == Task::kMultilabel && a.average == Average::kMicro ? 1 : classes;
  std::vector<Row> result(rows);
  std::vector<std::vector<std::pair<double, bool>>> samples(rows);
  for (size_t i = 0; i < scores.size(); ++i) {
    const double wanted = target[task == Task::kMulticlass ? i / classes : i];
    if (a.ignore_index && wanted == static_cast<double>(*a.ignore_index))
      continue;
    double score = scores[i];
    if (a.from_logits && task == Task::kMulticlass) {
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c)
        sum += std::exp(scores[i - i % classes + c]);
      score = std::exp(score) / sum;
    } else if (a.from_logits) {
      score = 1 / (1 + std::exp(-score));
    }
    const bool positive = wanted == (task == Task::kMulticlass ? double(i % classes) : 1);
    samples[i % rows].emplace_back(score, positive);
  }
  for (size_t r = 0; r < rows; ++r) {
    Row &row = result[r];
    std::set<double> thresholds;
    for (const auto &[score, positive] : samples[r])
      thresholds.insert(score);
    row.thresholds.assign(thresholds.begin(), thresholds.end());
    row.thresholds.push_back(std::numeric_limits<double>::infinity());
    if (a.thresholds) {
      const std::vector<float> given = a.thresholds->values();
      row.thresholds.assign(given.begin(), given.end());
    }
    row.tp.resize(row.thresholds.size());
    row.fp.resize(row.thresholds.size());
    for (const auto &[score, positive] : samples[r]) {
      (positive ? row.positives : row.negatives) += 1;
      for (size_t t = 0; t < row.thresholds.size(); ++t)
        if (score >= row.thresholds[t])
          (positive ? row.tp : row.fp)[t] += 1;
    }
    if (!a.thresholds)
      row.thresholds.back() = 1;
  }
  const auto rate = [](double a, double b) { return b == 0 ? 0 : a / b; };
  for (Row &row : result)
    for (size_t t = 0; t < row.tp.size(); ++t) {
      row.precision.push_back(row.tp[t] / (row.tp[t] + row.fp[t]));
      row.recall.push_back(rate(row.tp[t], row.positives));
      row.fpr.push_back(rate(row.fp[t], row.negatives));
      row.specificity.push_back(row.negatives == 0 ? 1
                                                   : (row.negatives - row.fp[t]) / row.negatives);
    }
  return result;
}

// The results of a row: of a curve its points, of others numbers.
using Definition = std::vector<std::vector<double>> (*)(const Row &, const CurveArguments &);

std::vector<std::vector<double>> precision_recall(const Row &row, const CurveArguments &a) {
  std::vector<double> precision = row.precision, recall = row.recall;
  if (row.positives == 0)
    recall.assign(recall.size(), a.thresholds ? NAN : 1);
  if (!a.thresholds) {
    precision.pop_back();
    recall.pop_back();
  }
  precision.push_back(1);
  recall.push_back(0);
  return {precision, recall};
}

std::vector<std::vector<double>> roc(const Row &row, const CurveArguments &) {
  return {{row.fpr.rbegin(), row.fpr.rend()}, {row.recall.rbegin(), row.recall.rend()}};
}

std::vector<std::vector<double>> auroc(const Row &row, const CurveArguments &a) {
  const double limit = a.max_fpr.value_or(1);
  double area = 0;
  for (size_t t = row.tp.size() - 1; t-- > 0;) {
    const double x0 = row.fpr[t + 1], x1 = row.fpr[t], y0 = row.recall[t + 1], y1 = row.recall[t];
    if (x0 == x1 || x0 >= limit)
      continue;
    const double x = std::min(x1, limit), y = y0 + (y1 - y0) * (x - x0) / (x1 - x0);
    area += (x - x0) * (y0 + y) / 2;
  }
  // Rates fall, so that the first are the highest.
  if (limit == 1 || row.fpr[0] == 0 || row.recall[0] == 0)
    return {{area}};
  const double chance = limit * limit / 2;
  return {{0.5 * (1 + (area - chance) / (limit - chance))}};
}

std::vector<std::vector<double>> average_precision(const Row &row, const CurveArguments &) {
  double sum = 0;
  for (size_t t = 0; t < row.tp.size(); ++t) {
    const double next = t + 1 < row.tp.size() ? row.recall[t + 1] : 0;
    if (row.tp[t] > 0)
      sum += (row.recall[t] - next) * row.precision[t];
  }
  return {{sum}};
}

// From the highest threshold down, so that of equal ones the first is kept.
std::vector<std::vector<double>> best_recall(const Row &row, const std::vector<double> &other,
                                             double minimum, double none, bool above_0) {
  double best = above_0 ? 0 : -1, threshold = none;
  for (size_t t = row.tp.size(); t-- > 0;)
    if (other[t] >= minimum && row.recall[t] > best) {
      best = row.recall[t];
      threshold = row.thresholds[t];
    }
  return {{std::max(best, 0.)}, {threshold}};
}

std::vector<std::vector<double>> eer(const Row &row, const CurveArguments &) {
  double least = std::numeric_limits<double>::infinity(), value = 0;
  for (size_t t = row.tp.size(); t-- > 0;) {
    const double missed = 1 - row.recall[t], difference = std::abs(row.fpr[t] - missed);
    if (difference < least - 1e-12) {
      least = difference;
      value = (row.fpr[t] + missed) / 2;
    }
  }
  return {{value}};
}

#define CURVE_TASKS(Name)                                                                          \
  {make_curve<Binary##Name>, make_curve<Multiclass##Name>, make_curve<Multilabel##Name>}

struct Case {
  std::array<std::unique_ptr<SupervisedMetric> (*)(const CurveArguments &), 3> make; // by task
  Definition definition;
  bool averages = false; // has the option
  enum { kNumbers, kAscending, kDescending } points = kNumbers;
};

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {CURVE_TASKS(PrecisionRecallCurve), precision_recall, false, Case::kAscending},
      {CURVE_TASKS(ROC), roc, false, Case::kDescending},
      {CURVE_TASKS(AUROC), auroc, true},
      {CURVE_TASKS(AveragePrecision), average_precision, true},
      {CURVE_TASKS(RecallAtFixedPrecision),
       [](const Row &row, const CurveArguments &a) {
         return best_recall(row, row.precision, a.minimum, NAN, true);
       }},
      {CURVE_TASKS(SensitivityAtSpecificity),
       [](const Row &row, const CurveArguments &a) {
         return best_recall(row, row.specificity, a.minimum, 1e6, false);
       }},
      {CURVE_TASKS(EER), eer},
  };
  return all;
}

std::vector<double> reference(const Case &metric, Task task, const Batch &batch, CurveArguments a) {
  if (!metric.averages)
    a.average = Average::kNone;
  const std::vector<Row> rows = reference_rows(task, batch, a);
  std::vector<std::vector<double>> parts;
  double sum = 0, weights = 0;
  size_t longest = 0;
  for (const Row &row : rows)
    longest = std::max(longest, metric.definition(row, a)[0].size());
  for (const Row &row : rows) {
    auto results = metric.definition(row, a);
    // Shorter curves repeat the point of the lowest threshold.
    for (auto &points : results)
      points.insert(metric.points == Case::kAscending ? points.begin() : points.end(),
                    longest - points.size(),
                    metric.points == Case::kAscending ? points.front() : points.back());
    parts.resize(results.size());
    for (size_t part = 0; part < results.size(); ++part)
      parts[part].insert(parts[part].end(), results[part].begin(), results[part].end());
    const double weight = a.average == Average::kWeighted ? row.positives : 1;
    sum += weight * results[0][0];
    weights += weight;
  }
  if (task != Task::kBinary && (a.average == Average::kMacro || a.average == Average::kWeighted))
    return {weights == 0 ? 0 : sum / weights};
  std::vector<double> all;
  for (const auto &part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

void expect_near(const at::Tensor &result, const std::vector<double> &expected,
                 const std::string &what) {
  const auto actual = values(result);
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i)
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << what << " at " << i << " is " << actual[i];
    else
      EXPECT_NEAR(actual[i], expected[i], 1e-6 * std::max(1., expected[i])) << what << " at " << i;
}

// Like random_batch(), with probabilities on and beside the thresholds of nine.
Batch scored_batch(Task task, int64_t n, const CurveArguments &a) {
  Batch batch = random_batch(task, a.from_logits ? Input::kLogits : Input::kScores, n, a);
  if (!a.from_logits)
    batch.preds = at::randint(0, 17, batch.preds.sizes(), at::kFloat) / 16;
  return batch;
}

class CurveMetrics : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(7); }
  at::Tensor scores(std::vector<double> numbers) const {
    return at::tensor(numbers, at::kFloat).to(device());
  }
  at::Tensor labels(std::vector<int64_t> numbers) const {
    return at::tensor(numbers, at::kLong).to(device());
  }
};
DEVSAN_DEVICE_SUITE(CurveMetrics);

// Every metric and average, with arguments that vary along, in three updates, as two metrics
// merged.
TEST_P(CurveMetrics, EqualTheirDefinitions) {
  const std::vector<Thresholds> thresholds = {2, 9, {0.125}, {0.1, 0.5, 0.5, 0.7}};
  for (const Task task : kTasks)
    for (const auto &[from_logits, exact] :
         {std::pair(false, false), {false, true}, {true, false}, {true, true}})
      for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {1}, {-100}})
        for (const Average average :
             {Average::kMicro, Average::kMacro, Average::kWeighted, Average::kNone}) {
          CurveArguments a;
          if (task == Task::kMulticlass && average == Average::kMicro)
            continue;
          a.average = average;
          a.ignore_index = ignore_index;
          a.from_logits = from_logits;
          const size_t t =
              (static_cast<size_t>(average) + ignore_index.has_value() + from_logits) % 4;
          a.thresholds = thresholds[t];
          if (exact)
            a.thresholds.reset();
          a.minimum = std::array{0., 0.3, 0.6, 0.9}[static_cast<int>(average)];
          if (task == Task::kBinary && (exact || t < 2)) // whose thresholds reach a rate of 1
            a.max_fpr = 0.4;
          const Batch all = scored_batch(task, 30, a);
          const Batch parts[] = {all.narrow(0, 10).on(device()), all.narrow(10, 19).on(device()),
                                 all.narrow(29, 1).on(device())};
          for (const Case &metric : cases()) {
            if (!metric.averages && task != Task::kBinary && average == Average::kMicro)
              continue;
            const auto whole = metric.make[static_cast<int>(task)](a),
                       other = metric.make[static_cast<int>(task)](a);
            for (const Batch &part : parts)
              (&part == &parts[0] ? whole : other)->update(part.preds, part.target);
            whole->merge(*other);
            const at::Tensor result = whole->compute();
            EXPECT_EQ(result.device(), device());
            EXPECT_EQ(result.scalar_type(), at::kFloat);
            expect_near(result, reference(metric, task, all, a),
                        c10::str(whole->name(), " average ", static_cast<int>(average), " ignore ",
                                 ignore_index.value_or(-1), " logits ", from_logits, " thresholds ",
                                 exact ? "none" : a.thresholds->text()));
          }
        }
}

TEST_P(CurveMetrics, AverageCurvesOfClasses) {
  const at::Tensor preds = scores({0.7, 0.3, 0.4, 0.6, 0.2, 0.8}).view({3, 2});
  const at::Tensor target = labels({0, 1, 0});
  for (const bool exact : {true, false}) {
    const auto curve = [&](Average average) {
      auto options = exact ? MulticlassROCOptions(2) : MulticlassROCOptions(2, {0.25, 0.5});
      return multiclass_roc(preds, target, options.average(average));
    };
    // Of all classes at once: each score is one of a binary task.
    const at::Tensor flat = at::stack({target.eq(0), target.eq(1)}, 1).reshape(-1);
    const auto binary = binary_roc(preds.reshape(-1), flat,
                                   exact ? BinaryROCOptions() : BinaryROCOptions({0.25, 0.5}));
    const auto micro = curve(Average::kMicro);
    expect_near(micro.fpr, values(binary.fpr), "micro fpr");
    expect_near(micro.tpr, values(binary.tpr), "micro tpr");
    expect_near(micro.thresholds, values(binary.thresholds), "micro thresholds");

    // At the points of both classes' curves, in order.
    const auto macro = curve(Average::kMacro), each = curve(Average::kNone);
    expect_near(macro.fpr, values(std::get<0>(each.fpr.reshape(-1).sort())), "macro fpr");
    EXPECT_EQ(macro.tpr.numel(), macro.fpr.numel());
    EXPECT_EQ(macro.thresholds.numel(), macro.fpr.numel());
    EXPECT_TRUE(macro.tpr.ge(0).bitwise_and(macro.tpr.le(1)).all().item<bool>());

    const auto rate = [&](Average average) {
      auto options = exact ? MulticlassEEROptions(2) : MulticlassEEROptions(2, {0.25, 0.5});
      return values(multiclass_eer(preds, target, options.average(average)))[0];
    };
    EXPECT_EQ(rate(Average::kMicro),
              values(binary_eer(preds.reshape(-1), flat,
                                exact ? BinaryEEROptions() : BinaryEEROptions({0.25, 0.5})))[0]);
    EXPECT_GE(rate(Average::kMacro), 0);
  }
  EXPECT_ERROR(MulticlassROC(MulticlassROCOptions(2).average(Average::kWeighted)),
               "average is kWeighted");
}

// scikit-learn's and TorchMetrics' points.
TEST_P(CurveMetrics, NameTheResultsOfAllScores) {
  const at::Tensor preds = scores({0.1, 0.4, 0.4, 0.8}), target = labels({0, 1, 0, 1});
  const auto curve =
      binary_precision_recall_curve(preds, target, BinaryPrecisionRecallCurveOptions());
  expect_near(curve.precision, {0.5, 2. / 3, 1, 1}, "precision");
  expect_near(curve.recall, {1, 1, 0.5, 0}, "recall");
  expect_near(curve.thresholds, {0.1, 0.4, 0.8}, "thresholds");
  const auto rates = binary_roc(preds, target, BinaryROCOptions());
  expect_near(rates.fpr, {0, 0, 0.5, 1}, "fpr");
  expect_near(rates.tpr, {0, 0.5, 1, 1}, "tpr");
  expect_near(rates.thresholds, {1, 0.8, 0.4, 0.1}, "thresholds");
  EXPECT_EQ(rates.thresholds.device(), device());

  // Of several labels each its own, and padded to one length.
  MultilabelROC by_label(MultilabelROCOptions(2).from_logits(true).ignore_index(-1));
  by_label.update(scores({0, -20, 0, 20, 0, 30}).view({3, 2}),
                  labels({1, -1, 0, 0, 1, 1}).view({3, 2}));
  const auto results = by_label.results();
  ASSERT_EQ(results.size(), 2);
  expect_near(results[0].fpr, {0, 1}, "fpr");
  expect_near(results[0].thresholds, {1, 0.5}, "thresholds");
  EXPECT_EQ(results[0].thresholds.sizes(), results[0].tpr.sizes());
  expect_near(results[1].fpr, {0, 0, 1}, "fpr"); // which float32 probabilities do not tell apart
  expect_near(results[1].tpr, {0, 1, 1}, "tpr");
  const auto padded = by_label.result();
  expect_near(padded.fpr, {0, 1, 1, 0, 0, 1}, "fpr");
  expect_near(padded.thresholds, {1, 0.5, 0.5, 1, 1, 1}, "thresholds");
  MultilabelPrecisionRecallCurve ascending(2);
  ascending.update(scores({0.5, 0.25, 0.5, 0.5}).view({2, 2}), labels({1, 0, 0, 1}).view({2, 2}));
  expect_near(ascending.results()[0].precision, {0.5, 1}, "precision");
  expect_near(ascending.result().precision, {0.5, 0.5, 1, 0.5, 1, 1}, "precision");
  expect_near(ascending.result().thresholds, {0.5, 0.5, 0.25, 0.5}, "thresholds");
  EXPECT_ERROR(ascending.thresholds(), "MultilabelPrecisionRecallCurve", "not given", "result()");

  // With thresholds, they are of one length anyway.
  MultilabelROC binned(MultilabelROCOptions(2, 3));
  binned.update(scores({0.5, 0.25}).view({1, 2}), labels({1, 0}).view({1, 2}));
  expect_near(binned.results()[1].fpr, {0, 0, 1}, "fpr");
  expect_near(binned.results()[1].thresholds, {1, 0.5, 0}, "thresholds");
}

// What was kept is neither copied nor to be written to; what does not count is masked.
TEST_P(CurveMetrics, KeepAllScoresByReference) {
  const at::Tensor preds = scores({0.1, 0.4, 0.6, 0.8}), target = labels({0, 1, 0, 1});
  BinaryAUROC metric;
  metric.update(preds, target);
  expect_near(metric.compute(), {0.75}, "of one batch");
  metric.update(preds.view({2, 2}), target.view({2, 2}).to(at::kInt));
  preds.add_(0.1);
  EXPECT_ERROR(metric.compute(), "BinaryAUROC", "`preds` was written to");

  MulticlassAUROC deferred(MulticlassAUROCOptions(2).validate(Validate::kDeferred));
  deferred.update(scores({0.2, 0.8, 0.5, 2, 0.5, 0.5}).view({3, 2}), labels({1, 1, -5}));
  EXPECT_ERROR(deferred.check_valid(), "MulticlassAUROC", "2 samples had", "left out");
  if (device().is_cpu())
    EXPECT_ERROR(deferred.compute(), "2 samples");
  else
    EXPECT_TRUE(std::isnan(values(deferred.compute())[0]));

  MulticlassEER eager(MulticlassEEROptions(2).validate(Validate::kEager).from_logits(true));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_ERROR(
      eager.update(
          scores({1, NAN, 0, infinity, -infinity, -infinity, 1, -infinity, 9, 9}).view({5, 2}),
          labels({0, 0, 0, 0, 2})),
      "MulticlassEER", "4 of 5", "outside [0, 2)", "NaN");
  EXPECT_FALSE(eager.device());
  BinaryAUROC logits(BinaryAUROCOptions().validate(Validate::kEager).from_logits(true));
  logits.update(scores({-infinity, infinity}), labels({0, 1}));
  EXPECT_ERROR(logits.update(scores({NAN, 0}), labels({0, 1})), "BinaryAUROC", "1 of 2");
  expect_near(logits.compute(), {1}, "infinite logits");
}

TEST_P(CurveMetrics, OfAllScoresMergeAndSyncAsIfSeenByOne) {
  CurveArguments a;
  a.thresholds.reset();
  const Batch all = scored_batch(Task::kMulticlass, 30, a);
  for (const Case &metric : cases()) {
    const auto expected = reference(metric, Task::kMulticlass, all, a);
    test::onRanks(3, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
      const auto any = metric.make[static_cast<int>(Task::kMulticlass)](a);
      if (group->getRank() != 1) {
        const Batch part =
            (group->getRank() == 0 ? all.narrow(0, 11) : all.narrow(11, 19)).on(device());
        any->update(part.preds, part.target);
      }
      any->sync(group);
      expect_near(any->compute(), expected, any->name());
    });
  }
}

// Classes are sorted in parts.
TEST_P(CurveMetrics, OfAllScoresTakeManyClasses) {
  constexpr int64_t kSamples = 1000, kClasses = 300;
  const at::Tensor preds = at::rand({kSamples, kClasses}).to(device());
  const at::Tensor target = at::randint(0, kClasses, {kSamples}, at::kLong).to(device());
  const auto by_class = [&](Average average) {
    return values(
        multiclass_auroc(preds, target, MulticlassAUROCOptions(kClasses).average(average)));
  };
  const auto scores = by_class(Average::kNone);
  ASSERT_EQ(scores.size(), kClasses);
  double macro = 0, weighted = 0;
  for (int64_t c = 0; c < kClasses; ++c) {
    const at::Tensor positive = target.eq(c);
    if (c % 53 == 0 || c > kClasses - 4)
      EXPECT_NEAR(scores[c],
                  values(binary_auroc(preds.select(1, c), positive, BinaryAUROCOptions()))[0],
                  1e-6);
    macro += scores[c] / kClasses;
    weighted += scores[c] * values(positive.sum())[0] / kSamples;
  }
  // More classes than a byte has numbers.
  EXPECT_EQ(values(multiclass_auroc(preds, target.remainder(200).to(at::kByte),
                                    MulticlassAUROCOptions(kClasses).average(Average::kNone))),
            values(multiclass_auroc(preds, target.remainder(200),
                                    MulticlassAUROCOptions(kClasses).average(Average::kNone))));
  EXPECT_NEAR(by_class(Average::kMacro)[0], macro, 1e-6);
  EXPECT_NEAR(by_class(Average::kWeighted)[0], weighted, 1e-6);
  const auto points = multiclass_recall_at_fixed_precision(
      preds, target, MulticlassRecallAtFixedPrecisionOptions(kClasses, 0.001));
  EXPECT_EQ(points.recall.sizes(), at::IntArrayRef({kClasses}));
  EXPECT_EQ(values(points.recall)[kClasses - 1],
            values(binary_recall_at_fixed_precision(preds.select(1, kClasses - 1),
                                                    target.eq(kClasses - 1),
                                                    BinaryRecallAtFixedPrecisionOptions(0.001))
                       .recall)[0]);
}

TEST_P(CurveMetrics, NameTheirResults) {
  const at::Tensor preds = scores({0.1, 0.4, 0.6, 0.8}), target = labels({0, 1, 0, 1});
  const auto curve = binary_precision_recall_curve(
      preds, target, BinaryPrecisionRecallCurveOptions({0., 0.5, 0.75}));
  expect_near(curve.precision, {0.5, 0.5, 1, 1}, "precision");
  expect_near(curve.recall, {1, 0.5, 0.5, 0}, "recall");
  expect_near(curve.thresholds, {0, 0.5, 0.75}, "thresholds");
  const auto rates = binary_roc(preds, target, BinaryROCOptions(3));
  expect_near(rates.fpr, {0, 0.5, 1}, "fpr");
  expect_near(rates.tpr, {0, 0.5, 1}, "tpr");
  expect_near(rates.thresholds, {1, 0.5, 0}, "thresholds");
  EXPECT_EQ(rates.thresholds.device(), device());
  const auto recall = binary_recall_at_fixed_precision(
      preds, target, BinaryRecallAtFixedPrecisionOptions(0.9, {0., 0.5, 0.75}));
  EXPECT_EQ(values(recall.recall)[0], 0.5);
  EXPECT_EQ(values(recall.threshold)[0], 0.75);
  const auto sensitivity =
      multilabel_sensitivity_at_specificity(preds.view({2, 2}), target.view({2, 2}),
                                            MultilabelSensitivityAtSpecificityOptions(2, 0.5, 3));
  EXPECT_EQ(sensitivity.sensitivity.sizes(), at::IntArrayRef({2}));
  // A dimension for the classes, and for the results before it.
  MulticlassROC by_class(MulticlassROCOptions(3, 5));
  by_class.update(scores({0.1, 0.2, 0.7}).view({1, 3}), labels({2}));
  EXPECT_EQ(by_class.compute().sizes(), at::IntArrayRef({2, 3, 5}));
}

TEST_P(CurveMetrics, TakeHalfPrecisionAndEmptyBatches) {
  for (const Task task : kTasks)
    for (const auto &[dtype, exact] : {std::pair(at::kHalf, false),
                                       {at::kBFloat16, false},
                                       {at::kDouble, false},
                                       {at::kHalf, true},
                                       {at::kBFloat16, true},
                                       {at::kDouble, true}}) {
      CurveArguments a;
      a.average = Average::kNone;
      a.from_logits = dtype == at::kBFloat16;
      if (exact)
        a.thresholds.reset();
      Batch batch = scored_batch(task, 50, a);
      batch.preds = batch.preds.to(dtype);
      for (const Case &metric : cases()) {
        const auto any = metric.make[static_cast<int>(task)](a);
        const Batch empty = batch.narrow(0, 0).on(device());
        any->update(empty.preds, empty.target);
        expect_near(any->compute(), reference(metric, task, empty, a), any->name() + " of nothing");
        any->update(batch.preds.to(device()), batch.target.to(device()));
        expect_near(any->compute(), reference(metric, task, batch, a), any->name());
      }
    }
}

// float32 has no 2^24 + 1.
TEST_P(CurveMetrics, CountsBeyondFloat) {
  BinaryPrecisionRecallCurve metric(BinaryPrecisionRecallCurveOptions(2));
  metric.update(scores({0.5}), labels({1}));
  for (int doublings = 0; doublings < 25; ++doublings)
    metric.merge(metric);
  metric.update(scores({1}), labels({1}));
  EXPECT_EQ(values<int64_t>(metric.states()[0]),
            (std::vector<int64_t>{0, 0, 0, 0, int64_t{1} << 25, 1}));
}

TEST_P(CurveMetrics, ValidatesAtOnceWithTheStatesUntouched) {
  BinaryAUROC binary(BinaryAUROCOptions(5).validate(Validate::kEager));
  binary.update(scores({0.9, 0.1}), labels({1, 0}));
  EXPECT_ERROR(binary.update(scores({0.9, 1.5, -0.1, NAN}), labels({1, 0, 0, 1})), "BinaryAUROC",
               "3 of 4", "no probability", "from_logits");
  EXPECT_ERROR(binary.update(scores({0.9}), labels({2})), "1 of 1", "other than 0 and 1");
  EXPECT_EQ(values(binary.compute())[0], 1);
  MulticlassROC classes(MulticlassROCOptions(2, 5).validate(Validate::kEager).from_logits(true));
  EXPECT_ERROR(classes.update(scores({1, 2, NAN, 0}).view({2, 2}), labels({2, 0})), "MulticlassROC",
               "2 of 2", "outside [0, 2)", "NaN");
  MultilabelEER ignoring(MultilabelEEROptions(2, 5).validate(Validate::kEager).ignore_index(7));
  ignoring.update(scores({1, 2, NAN, 0}).view({2, 2}), labels({1, 7, 7, 0}).view({2, 2}));
  EXPECT_EQ(values<int64_t>(ignoring.states()[0].sum())[0], 2);
}

TEST_P(CurveMetrics, CountsWhatIsOutOfRangeOnTheDevice) {
  MulticlassAUROC metric(MulticlassAUROCOptions(2, 3).validate(Validate::kDeferred));
  metric.update(scores({0.2, 0.8, 0.5, 2, 0.5, 0.5}).view({3, 2}), labels({1, 1, -5}));
  EXPECT_EQ(values<int64_t>(metric.states()[0]),
            (std::vector<int64_t>{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_ERROR(metric.check_valid(), "MulticlassAUROC", "2 samples had", "left out");
  if (device().is_cpu())
    EXPECT_ERROR(metric.compute(), "2 samples");
  else
    EXPECT_TRUE(std::isnan(values(metric.compute())[0]));
}

TEST_P(CurveMetrics, RefusesWrongInputsAndOptions) {
  BinaryROC binary(BinaryROCOptions(5));
  EXPECT_ERROR(binary.update(labels({1}), labels({1})), "BinaryROC", "preds", "Long", "scores");
  EXPECT_ERROR(binary.update(scores({1, 0}), labels({1})), "BinaryROC", "[2]", "[1]");
  MulticlassROC classes(MulticlassROCOptions(3, 5));
  EXPECT_ERROR(classes.update(scores({1, 0}).view({1, 2}), labels({1})), "MulticlassROC", "[1, 2]",
               "[1, 3]");
  EXPECT_FALSE(binary.device());
  EXPECT_ERROR(BinaryROC(BinaryROCOptions(1)), "BinaryROC", "thresholds", "1", "at least 2");
  EXPECT_ERROR(BinaryROC(BinaryROCOptions(-3)), "thresholds", "-3");
  EXPECT_ERROR(BinaryROC{BinaryROCOptions(std::vector<double>{})}, "empty");
  EXPECT_ERROR(BinaryROC(BinaryROCOptions({0.5, 1.5})), "1.5", "probabilities");
  EXPECT_ERROR(BinaryROC(BinaryROCOptions({0.5, 0.25})), "ascending");
  EXPECT_ERROR(BinaryAUROC(BinaryAUROCOptions(5).max_fpr(0.)), "max_fpr", "0");
  EXPECT_ERROR(MulticlassAUROC(MulticlassAUROCOptions(3, 5).average(Average::kMicro)), "kMicro");
  EXPECT_ERROR(BinaryRecallAtFixedPrecision(BinaryRecallAtFixedPrecisionOptions(2, 5)),
               "min_precision", "2");
  EXPECT_ERROR(BinarySensitivityAtSpecificity(BinarySensitivityAtSpecificityOptions(-1, 5)),
               "min_specificity", "-1");
  EXPECT_ERROR(binary.result(), "before the first update()");
}

TEST_P(CurveMetrics, MergesOnlyEqualOptions) {
  BinaryAUROC five(BinaryAUROCOptions(5)), list(BinaryAUROCOptions({0., 1.})),
      limited(BinaryAUROCOptions(5).max_fpr(0.5));
  EXPECT_ERROR(five.merge(list), "thresholds=5", "thresholds=0 1");
  EXPECT_ERROR(five.merge(limited), "max_fpr=0.5");
}

TEST_P(CurveMetrics, UpdateOnMetaTensors) {
  for (const Task task : kTasks)
    for (const Case &metric : cases()) {
      CurveArguments a;
      a.validate = Validate::kEager;
      a.ignore_index = -1;
      const Batch batch = scored_batch(task, 5, a);
      const auto any = metric.make[static_cast<int>(task)](a);
      any->update(batch.preds.to(at::kMeta), batch.target.to(at::kMeta));
      EXPECT_TRUE(any->compute().is_meta());
      a.thresholds.reset();
      const auto exact = metric.make[static_cast<int>(task)](a);
      for (int step = 0; step < 2; ++step)
        exact->update(batch.preds.to(at::kMeta), batch.target.to(at::kMeta));
      EXPECT_EQ(exact->states()[0].size(0), task == Task::kBinary ? 20 : 10);
    }
}

class CurveMetricsNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(CurveMetricsNoSync);

TEST_P(CurveMetricsNoSync, NeverWaitsForTheDevice) {
  for (const Task task : kTasks)
    for (const bool from_logits : {false, true}) {
      CurveArguments a;
      a.ignore_index = 2;
      a.from_logits = from_logits;
      if (from_logits)
        a.thresholds = Thresholds{0.2, 0.5};
      else if (task == Task::kBinary)
        a.max_fpr = 0.5;
      Batch batch;
      {
        const test::HostAccessScope host_access;
        batch = scored_batch(task, 8, a).on(device());
      }
      const devsan::ExpectNoSync no_sync;
      CurveArguments exact = a;
      exact.thresholds.reset();
      for (const Case &metric : cases())
        for (const CurveArguments &arguments : {a, exact}) {
          const auto any = metric.make[static_cast<int>(task)](arguments);
          for (int step = 0; step < 2; ++step)
            any->update(batch.preds, batch.target);
          if (arguments.thresholds || metric.points == Case::kNumbers)
            EXPECT_EQ(any->compute().device(), device());
        }
    }
}

} // namespace
} // namespace devsan::metrics
