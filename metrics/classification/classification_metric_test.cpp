// Counts that are sums of weights: of whole weights they are those of repeated samples.
#include "metrics/classification/classification_metric.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/average_precision.h"
#include "metrics/classification/cohen_kappa.h"
#include "metrics/classification/confusion_matrix.h"
#include "metrics/classification/exact_match.h"
#include "metrics/classification/f_beta.h"
#include "metrics/classification/jaccard.h"
#include "metrics/classification/matthews_corr_coef.h"
#include "metrics/classification/precision_recall_curve.h"
#include "metrics/classification/recall_fixed_precision.h"
#include "metrics/classification/roc.h"
#include "metrics/classification/stat_scores.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

constexpr int64_t kClasses = 4;

struct Batch {
  at::Tensor preds, target, weight; // whole weights, 0 among them
  Batch repeated() const {
    return {preds.repeat_interleave(weight, 0), target.repeat_interleave(weight, 0), {}};
  }
};

Batch batch(Task task, int64_t n) {
  const at::Tensor weight = at::randint(0, 4, {n}, at::kLong);
  // Few values, so that there are ties.
  const auto scores = [](at::IntArrayRef sizes) { return at::randint(0, 9, sizes).div(8); };
  switch (task) {
  case Task::kBinary:
    return {scores({n}), at::randint(0, 2, {n}, at::kLong), weight};
  case Task::kMulticlass:
    return {scores({n, kClasses}), at::randint(-1, kClasses, {n}, at::kLong), weight};
  case Task::kMultilabel:
    return {scores({n, kClasses}), at::randint(-1, 2, {n, kClasses}, at::kLong), weight};
  }
  return {};
}

template <class M, class Options> void expect_repeated(Options options) {
  at::manual_seed(3);
  options.ignore_index(-1);
  M counted(options), summed(Options(options).weighted(true)),
      other(Options(options).weighted(true));
  for (const int64_t n : {1, 7, 300}) {
    const Batch given = batch(Options::kTask, n);
    counted.update(given.repeated().preds, given.repeated().target);
    (n == 7 ? other : summed).update(given.preds, given.target, given.weight.to(at::kFloat));
  }
  // Without weights each counts as 1.
  const Batch more = batch(Options::kTask, 20);
  counted.update(more.preds, more.target);
  summed.update(more.preds, more.target);
  summed.merge(other);
  EXPECT_TRUE(at::allclose(summed.compute().to(at::kDouble), counted.compute().to(at::kDouble),
                           1e-6, 1e-6, /*equal_nan=*/true))
      << summed.name() << ": " << summed.compute() << counted.compute();
}

TEST(WeightedCountsTest, AreThoseOfRepeatedSamples) {
  expect_repeated<BinaryAccuracy>(BinaryAccuracyOptions());
  expect_repeated<BinaryConfusionMatrix>(BinaryConfusionMatrixOptions());
  expect_repeated<BinaryMatthewsCorrCoef>(BinaryMatthewsCorrCoefOptions());
  for (const Average average :
       {Average::kMicro, Average::kMacro, Average::kWeighted, Average::kNone}) {
    expect_repeated<MulticlassAccuracy>(MulticlassAccuracyOptions(kClasses).average(average));
    expect_repeated<MulticlassAccuracy>(
        MulticlassAccuracyOptions(kClasses).average(average).top_k(2));
    expect_repeated<MultilabelF1Score>(MultilabelF1ScoreOptions(kClasses).average(average));
    expect_repeated<MultilabelJaccardIndex>(
        MultilabelJaccardIndexOptions(kClasses).average(average));
    expect_repeated<MulticlassStatScores>(MulticlassStatScoresOptions(kClasses).average(average));
    expect_repeated<MultilabelAveragePrecision>(
        MultilabelAveragePrecisionOptions(kClasses).average(average));
    expect_repeated<MultilabelAveragePrecision>(
        MultilabelAveragePrecisionOptions(kClasses, 5).average(average));
    if (average == Average::kMicro)
      continue;
    expect_repeated<MulticlassAUROC>(MulticlassAUROCOptions(kClasses).average(average));
    expect_repeated<MulticlassAUROC>(MulticlassAUROCOptions(kClasses, 6).average(average));
  }
  expect_repeated<MulticlassCohenKappa>(
      MulticlassCohenKappaOptions(kClasses).weights(KappaWeights::kLinear));
  expect_repeated<MulticlassMatthewsCorrCoef>(MulticlassMatthewsCorrCoefOptions(kClasses));
  expect_repeated<MultilabelConfusionMatrix>(MultilabelConfusionMatrixOptions(kClasses));
  expect_repeated<MultilabelExactMatch>(MultilabelExactMatchOptions(kClasses));
  expect_repeated<MulticlassExactMatch>(MulticlassExactMatchOptions(kClasses));
  expect_repeated<BinaryAUROC>(BinaryAUROCOptions());
  expect_repeated<BinaryAUROC>(BinaryAUROCOptions().max_fpr(0.3));
  expect_repeated<BinaryPrecisionRecallCurve>(BinaryPrecisionRecallCurveOptions());
  expect_repeated<BinaryPrecisionRecallCurve>(BinaryPrecisionRecallCurveOptions(9));
  expect_repeated<MulticlassRecallAtFixedPrecision>(
      MulticlassRecallAtFixedPrecisionOptions(kClasses, 0.3));
}

TEST(WeightedCountsTest, DimensionsAfterTheClassHaveWeightsOfTheirOwn) {
  at::manual_seed(4);
  const at::Tensor preds = at::rand({5, 3, kClasses}),
                   target = at::randint(0, 2, {5, 3, kClasses}, at::kLong);
  const at::Tensor weight = at::randint(0, 3, {5, 3}, at::kLong);
  MultilabelF1Score of_parts(MultilabelF1ScoreOptions(kClasses).weighted(true));
  of_parts.update(preds.movedim(2, 1), target.movedim(2, 1), weight);
  const auto rows = [&](const at::Tensor &x) { return x.reshape({15, kClasses}); };
  MultilabelF1Score of_rows(MultilabelF1ScoreOptions(kClasses).weighted(true));
  of_rows.update(rows(preds), rows(target), weight.reshape(-1));
  EXPECT_EQ(values<float>(of_parts.compute()), values<float>(of_rows.compute()));

  // A sample of several parts that are right together has one weight.
  MulticlassExactMatch whole(MulticlassExactMatchOptions(kClasses).weighted(true));
  const at::Tensor labels = at::randint(0, kClasses, {2, 3}, at::kLong);
  whole.update(labels, at::stack({labels[0], (labels[1] + 1).remainder(kClasses)}),
               at::tensor({3.0, 1.0}));
  EXPECT_FLOAT_EQ(whole.compute().item<float>(), 0.75);
}

TEST(WeightedCountsTest, AreTakenByFunctionalForms) {
  at::manual_seed(6);
  const Batch given = batch(Task::kBinary, 50);
  const at::Tensor target = given.target.clamp_min(0);
  const auto repeated = [&](const at::Tensor &x) { return x.repeat_interleave(given.weight, 0); };
  EXPECT_EQ(values<float>(binary_accuracy(given.preds, target,
                                          BinaryAccuracyOptions().weighted(true), given.weight)),
            values<float>(binary_accuracy(repeated(given.preds), repeated(target), {})));
  EXPECT_EQ(
      values<float>(
          binary_roc(given.preds, target, BinaryROCOptions(5).weighted(true), given.weight).tpr),
      values<float>(binary_roc(repeated(given.preds), repeated(target), {5}).tpr));
}

TEST(WeightedCountsTest, AreSaidBeforehand) {
  const Batch given = batch(Task::kBinary, 6);
  BinaryAccuracy plain;
  EXPECT_ERROR(plain.update(given.preds, given.target, given.weight),
               "BinaryAccuracy: `weight` was passed, but samples are counted in integers; make the "
               "metric with weighted(true)");
  BinaryAccuracy weighted(BinaryAccuracyOptions().weighted(true));
  EXPECT_ERROR(weighted.update(given.preds, given.target, at::ones({5})),
               "`weight` has shape [5], but the samples have [6]");
  EXPECT_ERROR(weighted.merge(plain), "both need the same class and options");
  // Integers have no remainder.
  EXPECT_EQ(plain.state_dict().is_empty(), true);
  plain.update(given.preds, given.target);
  EXPECT_EQ(plain.states().front().scalar_type(), at::kLong);
}

TEST(ScoresOfEachSampleTest, AreThoseOfTheSampleAlone) {
  at::manual_seed(5);
  const at::Tensor preds = at::rand({6, kClasses, 9});
  const at::Tensor target = at::randint(-1, kClasses, {6, 9}, at::kLong);
  const MulticlassF1ScoreOptions options =
      MulticlassF1ScoreOptions(kClasses).ignore_index(-1).average(Average::kNone);
  MulticlassF1Score each(
      MulticlassF1ScoreOptions(options).multidim_average(MultidimAverage::kSamplewise));
  each.update(preds.narrow(0, 0, 2), target.narrow(0, 0, 2));
  each.update(preds.narrow(0, 2, 4), target.narrow(0, 2, 4));
  ASSERT_EQ(each.compute().sizes(), (std::vector<int64_t>{6, kClasses}));
  for (int64_t i = 0; i < 6; ++i) {
    const at::Tensor alone =
        multiclass_f1_score(preds.narrow(0, i, 1), target.narrow(0, i, 1), options);
    EXPECT_EQ(values<float>(each.compute()[i]), values<float>(alone));
  }
  EXPECT_ERROR(each.update(preds.select(2, 0), target.select(1, 0)),
               "there has to be a dimension more");
  EXPECT_ERROR(MulticlassF1Score(MulticlassF1ScoreOptions(kClasses).weighted(true).multidim_average(
                   MultidimAverage::kSamplewise)),
               "samples with a score each have no weights");
  each.reset();
  each.update(at::rand({0, kClasses, 2}), at::zeros({0, 2}, at::kLong));
  EXPECT_EQ(each.compute().sizes(), (std::vector<int64_t>{0, kClasses}));
}

TEST(ScoresOfEachSampleTest, OfAnExactMatchAreOfItsParts) {
  const at::Tensor target = at::tensor({0, 1, 2, 9, 1, 1, 9, 9}, at::kLong).view({4, 2});
  const at::Tensor preds = at::tensor({0, 1, 2, 2, 1, 0, 1, 1}, at::kLong).view({4, 2});
  const auto of_classes =
      MulticlassExactMatchOptions(3).ignore_index(9).multidim_average(MultidimAverage::kSamplewise);
  EXPECT_EQ(values<float>(multiclass_exact_match(preds, target, of_classes)),
            (std::vector<float>{1, 1, 0, 1}));
  EXPECT_EQ(values<float>(
                multiclass_exact_match(preds.narrow(1, 0, 0), target.narrow(1, 0, 0), of_classes)),
            (std::vector<float>(4))); // of nothing it is 0

  // Of two labels the last dimension is the parts: one and two of three are right, one is ignored.
  const at::Tensor right = at::tensor({1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 9}, at::kLong);
  const at::Tensor said = at::tensor({1, 1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 0}, at::kLong);
  const auto of_labels =
      MultilabelExactMatchOptions(2).ignore_index(9).multidim_average(MultidimAverage::kSamplewise);
  const auto match = multilabel_exact_match(said.view({2, 2, 3}), right.view({2, 2, 3}), of_labels);
  EXPECT_EQ(values<float>(match), (std::vector<float>{1.F / 3, 2.F / 3}));
  MultilabelExactMatch none(of_labels);
  none.update(at::zeros({0, 2, 3}), at::zeros({0, 2, 3}, at::kLong));
  EXPECT_EQ(none.compute().sizes(), (std::vector<int64_t>{0}));
}

TEST(WeightedCountsTest, RunOnMetaTensorsAndPairsOfFloats) {
  const auto meta = [](const at::Tensor &x) { return x.to(at::kMeta); };
  const Batch given = batch(Task::kMulticlass, 6);
  MulticlassF1Score counts(MulticlassF1ScoreOptions(kClasses).weighted(true));
  counts.update(meta(given.preds), meta(given.target), meta(given.weight));
  EXPECT_TRUE(counts.compute().is_meta());
  MulticlassAUROC area(MulticlassAUROCOptions(kClasses, 5).weighted(true));
  area.update(meta(given.preds), meta(given.target), meta(given.weight));
  EXPECT_TRUE(area.compute().is_meta());
}

} // namespace
} // namespace devsan::metrics
