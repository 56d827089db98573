// clone() of every kind of metric, and one metric per thread.
#include <thread>
#include <typeinfo>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "metrics/aggregation/cat_metric.h"
#include "metrics/aggregation/mean_metric.h"
#include "metrics/aggregation/sum_metric.h"
#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/brier_score.h"
#include "metrics/classification/calibration_error.h"
#include "metrics/classification/confusion_matrix.h"
#include "metrics/classification/exact_match.h"
#include "metrics/regression/concordance_corr_coef.h"
#include "metrics/regression/kl_divergence.h"
#include "metrics/regression/mean_squared_error.h"
#include "metrics/regression/r2_score.h"
#include "metrics/regression/spearman_corr_coef.h"
#include "test/support/devices.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

struct Batch {
  at::Tensor preds, target;
};

// A metric of each family with a batch for it.
struct Case {
  std::shared_ptr<SupervisedMetric> metric;
  Batch (*batch)();
};

Batch scores() {
  return {at::rand({40, 5}), at::randint(0, 5, {40}, at::kLong)};
}
Batch binary_scores() {
  return {at::rand({40}), at::randint(0, 2, {40}, at::kLong)};
}
Batch numbers() {
  return {at::randn({40}), at::randn({40})};
}
Batch distributions() {
  return {at::rand({40, 4}) + 0.1, at::rand({40, 4}) + 0.1};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const auto &metric, Batch (*batch)()) {
    all.push_back({std::make_shared<std::decay_t<decltype(metric)>>(metric), batch});
  };
  add(MulticlassAccuracy(MulticlassAccuracyOptions(5).top_k(2)), scores);
  add(MulticlassConfusionMatrix(5), scores);
  add(MulticlassExactMatch(5), scores);
  add(BinaryAUROC(BinaryAUROCOptions(20)), binary_scores);
  add(BinaryAUROC(), binary_scores);
  add(MulticlassBrierScore(5), scores);
  add(BinaryCalibrationError(), binary_scores);
  add(ConcordanceCorrCoef(), numbers);
  add(R2Score(), numbers);
  add(MeanSquaredError(MeanSquaredErrorOptions().squared(false)), numbers);
  add(KLDivergence(), distributions);
  add(SpearmanCorrCoef(), numbers);
  return all;
}

class CloneTest : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(11); }
  Batch on_device(const Batch &batch) const {
    return {batch.preds.to(device()), batch.target.to(device())};
  }
};
DEVSAN_DEVICE_SUITE(CloneTest);

TEST_P(CloneTest, GoesOnByItself) {
  for (const Case &each : cases()) {
    SCOPED_TRACE(each.metric->name());
    const Batch first = on_device(each.batch()), own = on_device(each.batch()),
                other = on_device(each.batch());
    SupervisedMetric &metric = *each.metric;
    const std::unique_ptr<Metric> fresh = metric.clone();
    metric.update(first.preds, first.target);
    const Metric &base = metric;
    const std::unique_ptr<Metric> copy = base.clone();
    const Metric &cloned = *copy;
    EXPECT_EQ(typeid(cloned), typeid(base));
    EXPECT_EQ(copy->description(), metric.description());
    EXPECT_EQ(values(copy->compute()), values(metric.compute()));

    auto &clone = static_cast<SupervisedMetric &>(*copy);
    clone.update(other.preds, other.target);
    metric.update(own.preds, own.target);
    const auto expected = [&](const Batch &second) {
      const auto whole = detail::cloned(static_cast<const SupervisedMetric &>(*fresh));
      whole->update(first.preds, first.target);
      whole->update(second.preds, second.target);
      return values(whole->compute());
    };
    EXPECT_EQ(values(metric.compute()), expected(own));
    EXPECT_EQ(values(clone.compute()), expected(other));
    metric.reset();
    EXPECT_EQ(values(clone.compute()), expected(other));
    EXPECT_TRUE(fresh->state_dict().is_empty());
  }
}

TEST_P(CloneTest, OfAnAggregatorIsACopyToo) {
  RunningMean mean(RunningMeanOptions(2));
  mean.update(1);
  RunningMean copy = mean;
  copy.update(2);
  copy.update(3);
  EXPECT_EQ(values(mean.compute())[0], 1);
  EXPECT_EQ(values(copy.compute())[0], 2.5);

  CatMetric all;
  all.update(at::ones({2}, device()));
  const std::unique_ptr<Metric> both = all.clone();
  all.update(at::zeros({1}, device()));
  EXPECT_EQ(both->compute().size(0), 2);
  EXPECT_EQ(all.compute().size(0), 3);
}

TEST_P(CloneTest, KeepsDeviceAndSync) {
  SumMetric sum;
  sum.to(device());
  EXPECT_EQ(sum.clone()->device(), device());
  test::onRanks(2, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
    SumMetric own = sum;
    own.update(1);
    own.sync(group);
    SumMetric copy = own;
    EXPECT_EQ(values(copy.compute())[0], 2);
    copy.unsync();
    EXPECT_EQ(values(copy.compute())[0], 1);
    EXPECT_EQ(values(own.compute())[0], 2);
  });
}

// A server: a metric per thread, all from one that has seen something, merged in the end. The
// clones share large counts, which would change in place if they were alone.
TEST_P(CloneTest, EachThreadHasItsOwn) {
  constexpr int kThreads = 4, kBatches = 25;
  std::vector<std::vector<Batch>> batches(kThreads);
  MulticlassConfusionMatrix whole(50), start(50);
  const Batch first =
      on_device({at::randint(0, 50, {64}, at::kLong), at::randint(0, 50, {64}, at::kLong)});
  whole.update(first.preds, first.target);
  start.update(first.preds, first.target);
  for (auto &of_thread : batches)
    for (int i = 0; i < kBatches; ++i) {
      of_thread.push_back(
          on_device({at::randint(0, 50, {64}, at::kLong), at::randint(0, 50, {64}, at::kLong)}));
      whole.update(of_thread.back().preds, of_thread.back().target);
    }
  // Each thread begins with what `start` has seen.
  const at::Tensor started = start.compute().to(at::kCPU, at::kLong, /*non_blocking=*/false,
                                                /*copy=*/true);
  std::vector<MulticlassConfusionMatrix> metrics(kThreads, start);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const test::HostAccessScope host_access;
      for (const Batch &batch : batches[i])
        metrics[i].update(batch.preds, batch.target);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 1; i < kThreads; ++i)
    metrics[0].merge(metrics[i]);
  EXPECT_TRUE(
      (metrics[0].compute().to(at::kCPU) - (kThreads - 1) * started).equal(whole.compute().cpu()));
  EXPECT_TRUE(start.compute().to(at::kCPU).equal(started));
}

} // namespace
} // namespace devsan::metrics
