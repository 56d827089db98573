// The metrics made of metrics, against plain loops over batches.
#include <cmath>
#include <deque>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "metrics/aggregation/mean_metric.h"
#include "metrics/classification/accuracy.h"
#include "metrics/classification/confusion_matrix.h"
#include "metrics/regression/mean_squared_error.h"
#include "metrics/regression/pearson_corr_coef.h"
#include "metrics/regression/spearman_corr_coef.h"
#include "metrics/wrappers/boot_strapper.h"
#include "metrics/wrappers/classwise_wrapper.h"
#include "metrics/wrappers/metric_tracker.h"
#include "metrics/wrappers/min_max_metric.h"
#include "metrics/wrappers/running.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

struct Batch {
  at::Tensor preds, target;
};

double squared_error(const std::vector<Batch> &batches) {
  double sum = 0, n = 0;
  for (const Batch &batch : batches) {
    const std::vector<double> preds = values(batch.preds), target = values(batch.target);
    for (size_t i = 0; i < preds.size(); ++i) {
      sum += (preds[i] - target[i]) * (preds[i] - target[i]);
      ++n;
    }
  }
  return sum / n;
}

class Wrappers : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(6); }
  at::TensorOptions labels() const { return at::TensorOptions().dtype(at::kLong).device(device()); }
  Batch numbers(int64_t n) const { return {at::randn({n}, device()), at::randn({n}, device())}; }
  Batch label_batch(int64_t n, int64_t classes) const {
    return {at::randint(0, classes, {n}, labels()), at::randint(0, classes, {n}, labels())};
  }
  const MeanSquaredError mse_{MeanSquaredErrorOptions().dtype(at::kDouble)};
};
DEVSAN_DEVICE_SUITE(Wrappers);

TEST_P(Wrappers, RunningIsOfTheLastUpdates) {
  Running metric(mse_, 3);
  EXPECT_ERROR(metric.compute(), "before the first update");
  std::vector<Batch> seen;
  for (int step = 0; step < 8; ++step) {
    seen.push_back(numbers(4 + step));
    metric.update(seen.back().preds, seen.back().target);
    if (seen.size() > 3)
      seen.erase(seen.begin());
    EXPECT_NEAR(values(metric.compute())[0], squared_error(seen), 1e-12);
    // A failed update leaves the window as it was.
    EXPECT_ERROR(metric.update(seen.back().preds, at::empty({1}, device())), "shape");
    EXPECT_NEAR(values(metric.compute())[0], squared_error(seen), 1e-12);
  }
  metric.reset();
  EXPECT_FALSE(metric.device());
  EXPECT_ERROR(Running(mse_, 0), "Running", "window is 0");
  MeanSquaredError used = mse_;
  used.update(seen[0].preds, seen[0].target);
  EXPECT_ERROR(Running{used}, "Running", "has seen batches");
}

TEST_P(Wrappers, RunningIsAsBeforeWhereALaterMetricRefuses) {
  const MeanSquaredError two_outputs{MeanSquaredErrorOptions().num_outputs(2)};
  MetricCollection collection({{"recent", Running(mse_, 2)}, {"two", two_outputs}});
  Running alone(mse_, 2);
  const auto update = [&](float value) {
    const at::Tensor preds = at::full({3, 2}, value, device()), target = at::zeros_like(preds);
    collection.update(preds, target);
    alone.update(preds, target);
  };
  const auto refuse = [&] {
    const at::Tensor rows = at::full({3}, 100.0f, device());
    EXPECT_ERROR(collection.update(rows, rows), "MeanSquaredError", "num_outputs");
    if (collection.state_dict().is_empty())
      return;
    EXPECT_EQ(values(collection.compute()["recent"]), values(alone.compute()));
  };
  refuse();
  for (float value : {1.0f, 2.0f, 3.0f}) {
    update(value);
    refuse();
    refuse();
  }
}

TEST_P(Wrappers, RunningKeepsLists) {
  Running metric(SpearmanCorrCoef(), 2);
  SpearmanCorrCoef last_two;
  for (int step = 0; step < 3; ++step) {
    const Batch batch = numbers(10);
    metric.update(batch.preds, batch.target);
    if (step > 0)
      last_two.update(batch.preds, batch.target);
  }
  EXPECT_NEAR(values(metric.compute())[0], values(last_two.compute())[0], 1e-6);
}

TEST_P(Wrappers, RunningMergesSyncsAndLoads) {
  std::vector<Batch> first{numbers(4), numbers(5), numbers(6)}, second{numbers(7)};
  Running a(mse_, 2), b(mse_, 2);
  for (const Batch &batch : first)
    a.update(batch.preds, batch.target);
  for (const Batch &batch : second)
    b.update(batch.preds, batch.target);
  const double both = squared_error({first[1], first[2], second[0]});

  Running merged = a;
  merged.merge(b);
  EXPECT_NEAR(values(merged.compute())[0], both, 1e-12);
  // The newest of both go together, and leave together.
  const Batch next = numbers(3);
  merged.update(next.preds, next.target);
  EXPECT_NEAR(values(merged.compute())[0], squared_error({first[2], second[0], next}), 1e-12);
  EXPECT_ERROR(merged.merge(Running(mse_, 3)), "window=3", "window=2");

  Running restored(mse_, 2);
  restored.load_state_dict(a.state_dict());
  restored.update(next.preds, next.target);
  EXPECT_NEAR(values(restored.compute())[0], squared_error({first[2], next}), 1e-12);
  Running of_one(mse_, 2);
  of_one.load_state_dict(b.state_dict()); // half a window
  EXPECT_NEAR(values(of_one.compute())[0], squared_error(second), 1e-12);

  test::onRanks(3, [&](const Group &group) {
    Running own = group->getRank() == 0 ? a : group->getRank() == 1 ? b : Running(mse_, 2);
    own.sync(group);
    EXPECT_NEAR(values(own.compute())[0], both, 1e-12);
    EXPECT_ERROR(own.update(next.preds, next.target), "unsync()");
    own.unsync();
    own.update(next.preds, next.target);
  });
}

TEST_P(Wrappers, MinMaxIsOfWhatWasComputed) {
  MinMaxMetric metric(mse_);
  EXPECT_ERROR(metric.compute(), "MeanSquaredError", "before the first update");
  double largest = -INFINITY, smallest = INFINITY;
  std::vector<Batch> seen;
  for (int step = 0; step < 6; ++step) {
    seen.push_back(numbers(4));
    metric.update(seen.back().preds, seen.back().target);
    if (step % 2)
      continue;
    const double value = squared_error(seen);
    largest = std::max(largest, value);
    smallest = std::min(smallest, value);
    const std::vector<double> found = values(metric.compute());
    EXPECT_NEAR(found[0], value, 1e-12);
    EXPECT_NEAR(found[1], largest, 1e-12);
    EXPECT_NEAR(found[2], smallest, 1e-12);
  }
  largest = std::max(largest, squared_error(seen));
  smallest = std::min(smallest, squared_error(seen));
  const auto named = metric.compute_dict();
  EXPECT_EQ(named.keys(), (std::vector<std::string>{"raw", "max", "min"}));
  EXPECT_NEAR(values(named["max"])[0], largest, 1e-12);
  EXPECT_EQ(named["raw"].device(), device());

  MinMaxMetric restored(mse_);
  restored.load_state_dict(metric.state_dict());
  EXPECT_EQ(values(restored.compute()), values(metric.compute()));
  metric.reset();
  metric.update(seen[0].preds, seen[0].target);
  const double alone = squared_error({seen[0]});
  for (const double value : values(metric.compute()))
    EXPECT_NEAR(value, alone, 1e-12);
  EXPECT_NEAR(values(restored.compute())[1], largest, 1e-12);
}

TEST_P(Wrappers, MinMaxLeavesNaNOut) {
  MinMaxMetric metric(PearsonCorrCoef{}); // NaN of one sample
  const Batch one = numbers(1), more = numbers(5);
  metric.update(one.preds, one.target);
  EXPECT_TRUE(std::isnan(values(metric.compute())[0]));
  EXPECT_EQ(values(metric.compute())[1], -INFINITY);
  metric.update(more.preds, more.target);
  const std::vector<double> found = values(metric.compute());
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found[2], found[0]);
  MinMaxMetric classes(MulticlassAccuracy(MulticlassAccuracyOptions(3).average(Average::kNone)));
  const Batch batch = label_batch(5, 3);
  classes.update(batch.preds, batch.target);
  EXPECT_ERROR(classes.compute(), "MinMaxMetric", "shape [3]");
}

// The extremes over epochs are those of all ranks' samples together.
TEST_P(Wrappers, MinMaxRemembersWhatAllRanksHad) {
  const std::vector<std::vector<Batch>> epochs{{numbers(4), numbers(9)}, {numbers(3), numbers(8)}};
  std::vector<double> expected;
  std::vector<Batch> seen;
  for (const std::vector<Batch> &epoch : epochs) {
    seen.insert(seen.end(), epoch.begin(), epoch.end());
    expected.push_back(squared_error(seen));
  }
  test::onRanks(2, [&](const Group &group) {
    MinMaxMetric metric(mse_);
    for (size_t epoch = 0; epoch < epochs.size(); ++epoch) {
      const Batch &own = epochs[epoch][group->getRank()];
      metric.update(own.preds, own.target);
      metric.sync(group);
      EXPECT_NEAR(values(metric.compute())[0], expected[epoch], 1e-12);
      metric.unsync();
    }
    metric.sync(group);
    const std::vector<double> found = values(metric.compute());
    EXPECT_NEAR(found[1], std::max(expected[0], expected[1]), 1e-12);
    EXPECT_NEAR(found[2], std::min(expected[0], expected[1]), 1e-12);
  });
}

TEST_P(Wrappers, ClasswiseNamesTheClasses) {
  const MulticlassAccuracy accuracy(MulticlassAccuracyOptions(3).average(Average::kNone));
  ClasswiseWrapper metric(accuracy, ClasswiseWrapperOptions().labels({"horse", "fish", "dog"}));
  MulticlassAccuracy alone = accuracy;
  for (int step = 0; step < 2; ++step) {
    const Batch batch = label_batch(20, 3);
    metric.update(batch.preds, batch.target);
    alone.update(batch.preds, batch.target);
  }
  const std::vector<double> expected = values(alone.compute());
  EXPECT_EQ(values(metric.compute()), expected);
  const auto named = metric.compute_dict();
  EXPECT_EQ(named.keys(), (std::vector<std::string>{"horse", "fish", "dog"}));
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(values(named.items()[i].value())[0], expected[i]);
  // A checkpoint of the metric alone is one of the wrapper.
  EXPECT_EQ(metric.state_dict().keys(), alone.state_dict().keys());

  ClasswiseWrapper numbered(accuracy, ClasswiseWrapperOptions().prefix("acc-").postfix("!"));
  numbered.merge(metric);
  EXPECT_EQ(numbered.compute_dict().keys(),
            (std::vector<std::string>{"acc-0!", "acc-1!", "acc-2!"}));
  ClasswiseWrapper two(accuracy, ClasswiseWrapperOptions().labels({"horse", "fish"}));
  two.merge(metric);
  EXPECT_ERROR(two.compute_dict(), "2 labels, but 3 values");
  ClasswiseWrapper one{MulticlassAccuracy(3)};
  const Batch batch = label_batch(4, 3);
  one.update(batch.preds, batch.target);
  EXPECT_ERROR(one.compute_dict(), "average kNone");
}

TEST_P(Wrappers, ShareStatesInACollection) {
  const MulticlassAccuracy by_class(MulticlassAccuracyOptions(3).average(Average::kNone));
  MetricCollection collection({{"classes", ClasswiseWrapper(by_class)},
                               {"accuracy", MulticlassAccuracy(3)},
                               {"best", MinMaxMetric(MulticlassAccuracy(3))},
                               {"recent", Running(MulticlassAccuracy(3), 1)}});
  EXPECT_EQ(collection.compute_groups(),
            (std::vector<std::vector<std::string>>{{"classes", "accuracy", "best"}, {"recent"}}));
  MulticlassAccuracy accuracy(3), classes = by_class, last(3);
  for (int step = 0; step < 3; ++step) {
    const Batch batch = label_batch(15, 3);
    collection.update(batch.preds, batch.target);
    accuracy.update(batch.preds, batch.target);
    classes.update(batch.preds, batch.target);
    last.reset();
    last.update(batch.preds, batch.target);
  }
  const auto results = collection.compute();
  EXPECT_EQ(results.keys(),
            (std::vector<std::string>{"classes_0", "classes_1", "classes_2", "accuracy", "best_raw",
                                      "best_max", "best_min", "recent"}));
  EXPECT_EQ(values(results["accuracy"]), values(accuracy.compute()));
  EXPECT_EQ(values(results["best_max"]), values(accuracy.compute()));
  EXPECT_EQ(values(results["recent"]), values(last.compute()));
  EXPECT_EQ(values(results["classes_2"])[0], values(classes.compute())[2]);

  const MetricCollection copy = collection.clone();
  EXPECT_EQ(copy.compute_groups(), collection.compute_groups());
  const Batch batch = label_batch(15, 3);
  collection.update(batch.preds, batch.target);
  EXPECT_EQ(values(copy.compute()["classes_1"]), values(results["classes_1"]));
  test::onRanks(2, [&](const Group &group) {
    MetricCollection own = copy.clone();
    own.sync(group);
    EXPECT_EQ(values(own.compute()["accuracy"]), values(results["accuracy"]));
  });
}

at::Generator seeded(uint64_t seed) {
  return at::make_generator<at::CPUGeneratorImpl>(seed);
}

// What kPoisson draws, from the generator's numbers by plain loops.
TEST_P(Wrappers, BootStrapperResamples) {
  constexpr int64_t kCopies = 4;
  BootStrapper metric(mse_,
                      BootStrapperOptions(kCopies).generator(seeded(3)).quantile(0.5).raw(true));
  at::Generator same = seeded(3);
  std::vector<std::vector<Batch>> resampled(kCopies);
  for (const int64_t n : {12, 0, 5}) {
    const Batch batch = numbers(n);
    metric.update(batch.preds, batch.target);
    if (n == 0)
      continue;
    const std::vector<double> times = values(at::poisson(at::ones({kCopies, n}), same));
    for (int64_t copy = 0; copy < kCopies; ++copy)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < times[copy * n + i]; ++k)
          resampled[copy].push_back({batch.preds[i], batch.target[i]});
  }
  const std::vector<double> found = values(metric.compute());
  ASSERT_EQ(found.size(), kCopies);
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < kCopies; ++i) {
    EXPECT_NEAR(found[i], squared_error(resampled[i]), 1e-12);
    mean += found[i] / kCopies;
  }
  for (const double value : found)
    variance += (value - mean) * (value - mean) / (kCopies - 1);
  const auto named = metric.compute_dict();
  EXPECT_EQ(named.keys(), (std::vector<std::string>{"mean", "std", "quantile", "raw"}));
  EXPECT_NEAR(values(named["mean"])[0], mean, 1e-12);
  EXPECT_NEAR(values(named["std"])[0], std::sqrt(variance), 1e-12);
  std::vector<double> sorted = found;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_NEAR(values(named["quantile"])[0], (sorted[1] + sorted[2]) / 2, 1e-12);
  EXPECT_EQ(values(named["raw"]), found);
}

// The spread of an accuracy p over n samples is sqrt(p (1 - p) / n).
TEST_P(Wrappers, BootStrapperTellsTheSpread) {
  constexpr int64_t kSamples = 400;
  const at::Tensor target = at::zeros({kSamples}, labels());
  const at::Tensor preds = at::arange(kSamples, labels()).remainder(4).eq(0).to(at::kLong);
  for (const SamplingStrategy strategy :
       {SamplingStrategy::kPoisson, SamplingStrategy::kMultinomial}) {
    BootStrapper metric(MulticlassAccuracy(MulticlassAccuracyOptions(2).average(Average::kMicro)),
                        BootStrapperOptions(300).sampling_strategy(strategy));
    metric.update(preds, target);
    const auto named = metric.compute_dict();
    EXPECT_NEAR(values(named["mean"])[0], 0.75, 0.01);
    EXPECT_NEAR(values(named["std"])[0], std::sqrt(0.75 * 0.25 / kSamples), 0.004);
  }
}

TEST_P(Wrappers, BootStrapperMergesAndLoads) {
  const auto options = BootStrapperOptions(3).sampling_strategy(SamplingStrategy::kMultinomial);
  BootStrapper a(mse_, options), b(mse_, options), restored(mse_, options);
  const Batch first = numbers(20), second = numbers(10);
  a.update(first.preds, first.target);
  b.update(second.preds, second.target);
  const std::vector<double> of_a = values(a.compute()), of_b = values(b.compute());
  restored.load_state_dict(a.state_dict());
  EXPECT_EQ(values(restored.compute()), of_a);
  restored.merge(b);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(values(restored.compute())[i], (20 * of_a[i] + 10 * of_b[i]) / 30, 1e-12);
  test::onRanks(2, [&](const Group &group) {
    BootStrapper own = group->getRank() == 0 ? a : b;
    own.sync(group);
    EXPECT_NEAR(values(own.compute())[1], (20 * of_a[1] + 10 * of_b[1]) / 30, 1e-12);
  });
  EXPECT_ERROR(BootStrapper(mse_, 0), "num_bootstraps is 0");
  EXPECT_ERROR(a.update(first.preds, second.target), "BootStrapper", "same N");

  // All copies, or none.
  BootStrapper strict(
      MulticlassConfusionMatrix(MulticlassConfusionMatrixOptions(2).validate(Validate::kEager)),
      BootStrapperOptions(40).sampling_strategy(SamplingStrategy::kMultinomial));
  const at::Tensor good = at::zeros({6}, labels()), bad = at::full({1}, 5, labels());
  strict.update(good, good);
  EXPECT_ERROR(strict.update(at::cat({good, bad}), at::cat({good, bad})), "samples");
  EXPECT_EQ(values<int64_t>(strict.compute().sum())[0], 6 * 40);
}

TEST_P(Wrappers, TrackerFindsTheBestStep) {
  MetricTracker tracker(mse_, /*maximize=*/false);
  EXPECT_ERROR(tracker.compute(), "MetricTracker", "increment()");
  EXPECT_ERROR(tracker.best_metric(), "increment()");
  std::vector<double> expected;
  for (int step = 0; step < 5; ++step) {
    tracker.increment();
    std::vector<Batch> seen;
    for (int i = 0; i < 3; ++i) {
      seen.push_back(numbers(6));
      tracker.update(seen.back().preds, seen.back().target);
    }
    expected.push_back(squared_error(seen));
    EXPECT_NEAR(values(tracker.compute())[0], expected.back(), 1e-12);
  }
  EXPECT_EQ(tracker.n_steps(), 5);
  const std::vector<double> all = values(tracker.compute_all());
  for (size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(all[i], expected[i], 1e-12);
  const auto best = std::min_element(expected.begin(), expected.end());
  EXPECT_NEAR(values(tracker.best_metric().value)[0], *best, 1e-12);
  EXPECT_EQ(values<int64_t>(tracker.best_metric().step)[0], best - expected.begin());

  MetricTracker restored(mse_, false);
  for (int step = 0; step < 5; ++step)
    restored.increment();
  restored.load_state_dict(tracker.state_dict());
  EXPECT_EQ(values(restored.compute_all()), all);
  tracker.reset();
  EXPECT_ERROR(tracker.compute(), "before the first update");
  EXPECT_NEAR(values(tracker[0].compute())[0], expected[0], 1e-12);
  tracker.reset_all();
  EXPECT_TRUE(tracker.state_dict().is_empty());
}

TEST_P(Wrappers, TrackerTakesCollectionsAndAggregators) {
  MetricTracker tracker(
      MetricCollection({{"mse", MeanSquaredError()}, {"pearson", PearsonCorrCoef()}}),
      {false, true});
  for (int step = 0; step < 3; ++step) {
    tracker.increment();
    const at::Tensor target = at::arange(4, at::TensorOptions().device(device())) * 1.f;
    tracker.update(target + (step == 1 ? 0.5 : 3), step == 2 ? target : -target);
  }
  const auto best = tracker.best_metric();
  EXPECT_EQ(best["mse"].value.dim(), 0);
  const auto all = tracker.compute_all();
  const std::vector<double> mse = values(all["mse"]);
  EXPECT_EQ(values<int64_t>(best["mse"].step)[0],
            std::min_element(mse.begin(), mse.end()) - mse.begin());
  EXPECT_EQ(values<int64_t>(best["pearson"].step)[0], 2);
  EXPECT_EQ(values(best["pearson"].value)[0], 1);
  EXPECT_ERROR((MetricTracker(mse_, {true, false})), "maximize has 2");

  test::onRanks(2, [&](const Group &group) {
    MetricTracker loss(MeanMetric(), false);
    for (int step = 0; step < 2; ++step) {
      loss.increment();
      loss.update(10. * step + group->getRank());
    }
    loss.sync(group); // all steps in one exchange
    EXPECT_EQ(values(loss.compute_all()), (std::vector<double>{0.5, 10.5}));
    loss.unsync();
    loss.increment();
    EXPECT_EQ(loss.n_steps(), 3);
  });

  // NaN is best of nothing but NaN.
  const BestMetric found = best_of(at::tensor({NAN, 3.f, NAN, 5.f}).to(device()), true);
  EXPECT_EQ(values(found.value)[0], 5);
  EXPECT_EQ(values<int64_t>(found.step)[0], 3);
  EXPECT_TRUE(std::isnan(values(best_of(at::full({2}, NAN, device()), false).value)[0]));
  for (const bool maximize : {true, false}) {
    const double worst = maximize ? -INFINITY : INFINITY;
    const at::Tensor rows =
        at::tensor(std::vector<double>{NAN, NAN, worst, 1, worst, NAN}).view({3, 2});
    const BestMetric of_each = best_of(rows.to(at::kFloat).to(device()), maximize);
    EXPECT_EQ(values(of_each.value), (std::vector<double>{worst, 1}));
    EXPECT_EQ(values<int64_t>(of_each.step), (std::vector<int64_t>{1, 1}));
  }
}

TEST_P(Wrappers, CloneGoOnByThemselves) {
  const std::vector<std::shared_ptr<SupervisedMetric>> all{
      std::make_shared<Running>(mse_, 2), std::make_shared<MinMaxMetric>(mse_),
      std::make_shared<BootStrapper>(mse_, 3),
      std::make_shared<ClasswiseWrapper>(
          MeanSquaredError(MeanSquaredErrorOptions(2).dtype(at::kDouble)))};
  for (const auto &metric : all) {
    const Batch batch{at::randn({5, 2}, device()), at::randn({5, 2}, device())};
    metric->update(batch.preds, batch.target);
    const std::vector<double> before = values(metric->compute());
    const std::unique_ptr<Metric> clone = metric->clone();
    EXPECT_EQ(clone->name(), metric->name());
    metric->update(batch.preds + 1, batch.target);
    EXPECT_EQ(values(clone->compute()), before) << metric->name();
    EXPECT_NE(values(metric->compute()), before) << metric->name();
    metric->to(at::kCPU);
    EXPECT_TRUE(metric->compute().is_cpu());
    EXPECT_EQ(clone->device(), device());
  }
}

TEST_P(Wrappers, RunOnMeta) {
  const at::Tensor rows = at::empty({5}, at::kMeta);
  Running running(mse_, 2);
  BootStrapper bootstrap(mse_, 3),
      multinomial(mse_, BootStrapperOptions(3).sampling_strategy(SamplingStrategy::kMultinomial));
  MinMaxMetric extremes(mse_);
  for (SupervisedMetric *metric :
       std::initializer_list<SupervisedMetric *>{&running, &bootstrap, &multinomial, &extremes}) {
    metric->update(rows, rows);
    metric->update(rows, rows);
    EXPECT_EQ(metric->compute().device(), at::kMeta) << metric->name();
  }
}

class WrappersNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(WrappersNoSync);

TEST_P(WrappersNoSync, NeverWaitForTheDevice) {
  at::Tensor scores, target;
  {
    const test::HostAccessScope host_access;
    scores = at::randn({32, 5}).to(device());
    target = at::randint(0, 5, {32}, at::kLong).to(device());
  }
  const devsan::ExpectNoSync no_sync;
  const MulticlassAccuracy accuracy(5);
  Running running(accuracy, 2);
  MinMaxMetric extremes(accuracy);
  BootStrapper poisson(accuracy, 4),
      multinomial(
          accuracy,
          BootStrapperOptions(4).sampling_strategy(SamplingStrategy::kMultinomial).quantile(0.9));
  ClasswiseWrapper classes(
      MulticlassAccuracy(MulticlassAccuracyOptions(5).average(Average::kNone)));
  MetricTracker tracker(accuracy);
  for (int step = 0; step < 3; ++step) {
    tracker.increment();
    for (SupervisedMetric *metric : std::initializer_list<SupervisedMetric *>{
             &running, &extremes, &poisson, &multinomial, &classes}) {
      metric->update(scores, target);
      metric->compute_dict();
    }
    tracker.update(scores, target);
  }
  EXPECT_EQ(tracker.best_metric().step.device(), device());
}

} // namespace
} // namespace devsan::metrics
