// What becomes of inputs on several devices. With one device alone the policies do nothing, which
// is tested as well.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "metrics/aggregation/cat_metric.h"
#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/confusion_matrix.h"
#include "metrics/collection.h"
#include "metrics/regression/pearson_corr_coef.h"
#include "metrics/regression/spearman_corr_coef.h"
#include "metrics/wrappers/running.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

struct Batch {
  at::Tensor preds, target;
  Batch on(at::Device device) const { return {preds.to(device), target.to(device)}; }
};

class DevicePolicies : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(8); }
  at::Device other() const { return test::rankDevice(device(), 1); }
  bool two_devices() const { return other() != device(); }
};
DEVSAN_DEVICE_SUITE(DevicePolicies);

// Every other batch lies on the other device.
template <class M>
void expect_whole(const M &fresh, DevicePolicy policy, at::Device first, at::Device second,
                  Batch (*make)(), double tolerance) {
  M metric = fresh, whole = fresh;
  metric.device_policy(policy);
  at::Device last = first;
  for (int step = 0; step < 5; ++step) {
    const Batch batch = make(), moved = batch.on(step % 2 ? second : first);
    last = moved.preds.device();
    metric.update(moved.preds, moved.target);
    whole.update(batch.preds, batch.target);
    if (step == 2) // looking at it changes nothing
      EXPECT_EQ(metric.compute().device(), policy == DevicePolicy::kMove ? last : first);
  }
  EXPECT_EQ(metric.device(), policy == DevicePolicy::kMove ? last : first);
  const std::vector<double> expected = values(whole.compute()), found = values(metric.compute());
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance) << metric.name();
  for (const auto &state : metric.state_dict())
    EXPECT_EQ(state.value().device(), *metric.device());
}

Batch scores() {
  return {at::rand({17, 4}), at::randint(0, 4, {17}, at::kLong)};
}
Batch binary_scores() {
  return {at::rand({17}), at::randint(0, 2, {17}, at::kLong)};
}
Batch numbers() {
  return {at::randn({17}), at::randn({17})};
}

TEST_P(DevicePolicies, TakeInputsFromSeveralDevices) {
  for (const DevicePolicy policy : {DevicePolicy::kPerDevice, DevicePolicy::kMove})
    for (const at::Device &second : {other(), at::Device(at::kCPU)}) {
      expect_whole(MulticlassAccuracy(4), policy, device(), second, scores, 0);
      expect_whole(MulticlassConfusionMatrix(4), policy, device(), second, scores, 0);
      expect_whole(BinaryAUROC(BinaryAUROCOptions(9)), policy, device(), second, binary_scores, 0);
      expect_whole(PearsonCorrCoef(), policy, device(), second, numbers, 1e-6);
      expect_whole(SpearmanCorrCoef(), policy, device(), second, numbers, 1e-6);
    }
}

TEST_P(DevicePolicies, KeepStatesWhereTheInputsAre) {
  if (!two_devices())
    GTEST_SKIP() << "needs two devices of a type in DEVSAN_TEST_DEVICES";
  const Batch batch = scores();
  const Batch here = batch.on(device()), there = batch.on(other());
  MulticlassAccuracy follows(4), each(4), moves(4);
  each.device_policy(DevicePolicy::kPerDevice);
  moves.device_policy(DevicePolicy::kMove);
  for (MulticlassAccuracy *metric : {&follows, &each, &moves})
    metric->update(here.preds, here.target);
  EXPECT_ERROR(follows.update(there.preds, there.target), "lies on " + other().str(),
               "states lie on " + device().str(), "preds.to(");
  each.update(there.preds, there.target);
  moves.update(there.preds, there.target);
  EXPECT_EQ(each.device(), device());
  EXPECT_EQ(moves.device(), other());
  EXPECT_EQ(each.compute().device(), device());
  // The inputs of one update lie on one device.
  for (MulticlassAccuracy *metric : {&each, &moves})
    EXPECT_ERROR(metric->update(here.preds, there.target), "`target` lies on " + other().str(),
                 "preds lies on " + device().str());
  // Where to() says, instead of where the first input was.
  each.to(other());
  each.update(here.preds, here.target);
  EXPECT_EQ(each.compute().device(), other());
  each.reset();
  each.update(here.preds, here.target);
  EXPECT_EQ(each.device(), other());
  EXPECT_EQ(each.states()[0].device(), other());
  // Back to one device, of which all is.
  moves.device_policy(DevicePolicy::kFollow);
  EXPECT_ERROR(moves.update(here.preds, here.target), "states lie on " + other().str());
  MulticlassAccuracy merged(4);
  merged.device_policy(DevicePolicy::kMove);
  merged.update(here.preds, here.target);
  merged.merge(moves);
  EXPECT_EQ(merged.device(), device());
}

TEST_P(DevicePolicies, LoseNothingToMeta) {
  for (const DevicePolicy policy : {DevicePolicy::kPerDevice, DevicePolicy::kMove}) {
    PearsonCorrCoef metric;
    metric.device_policy(policy);
    const Batch batch = numbers().on(device());
    metric.update(batch.preds, batch.target);
    const auto before = values(metric.compute());
    EXPECT_ERROR(metric.update(at::empty({3}, at::kMeta), at::empty({3}, at::kMeta)),
                 "PearsonCorrCoef", "meta tensors have no values to move");
    EXPECT_EQ(values(metric.compute()), before);
  }
}

TEST_P(DevicePolicies, AFailedUpdateMovesNothing) {
  MulticlassConfusionMatrix metric(MulticlassConfusionMatrixOptions(4).validate(Validate::kEager));
  metric.device_policy(DevicePolicy::kMove);
  const Batch good = scores().on(device()), bad = scores().on(other());
  metric.update(good.preds, good.target);
  const auto before = values<int64_t>(metric.compute());
  bad.target[2] = 9;
  EXPECT_ERROR(metric.update(bad.preds, bad.target), "1 of 17 samples");
  EXPECT_EQ(metric.device(), device());
  EXPECT_EQ(values<int64_t>(metric.compute()), before);
}

TEST_P(DevicePolicies, AreThoseOfAWholeCollection) {
  for (const DevicePolicy policy : {DevicePolicy::kPerDevice, DevicePolicy::kMove}) {
    MetricCollection collection({{"spearman", SpearmanCorrCoef()},
                                 {"pearson", PearsonCorrCoef()},
                                 {"running", Running(PearsonCorrCoef(), 3)}}),
        whole = collection.clone();
    collection.device_policy(policy);
    EXPECT_EQ(collection.device_policy(), policy);
    for (int step = 0; step < 4; ++step) {
      const Batch batch = numbers(), moved = batch.on(step % 2 ? other() : device());
      collection.update(moved.preds, moved.target);
      whole.update(batch.preds, batch.target);
    }
    for (const auto &result : whole.compute())
      EXPECT_NEAR(values(collection.compute()[result.key()])[0], values(result.value())[0], 1e-6)
          << result.key();
    const auto states = collection.state_dict();
    MetricCollection restored = collection.clone();
    restored.reset();
    restored.load_state_dict(states);
    test::onRanks(2, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
      MetricCollection own = restored.clone();
      own.sync(group);
      EXPECT_EQ(own["spearman"].states()[0].size(0), 2 * 4 * 17);
    });
  }
}

class DevicePoliciesNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(DevicePoliciesNoSync);

// Merging and moving are copies from device to device, for which the host does not wait.
TEST_P(DevicePoliciesNoSync, NeverWaitForTheDevice) {
  at::Tensor scores[2], target[2], numbers[2];
  {
    const test::HostAccessScope host_access;
    for (int i = 0; i < 2; ++i) {
      const at::Device on = test::rankDevice(device(), i);
      scores[i] = at::randn({32, 5}).to(on);
      target[i] = at::randint(0, 5, {32}, at::kLong).to(on);
      numbers[i] = at::randn({32}).to(on);
    }
  }
  const devsan::ExpectNoSync no_sync;
  for (const DevicePolicy policy : {DevicePolicy::kPerDevice, DevicePolicy::kMove}) {
    MulticlassAccuracy accuracy(5);
    MetricCollection moments({PearsonCorrCoef(), SpearmanCorrCoef()});
    accuracy.device_policy(policy);
    moments.device_policy(policy);
    for (int step = 0; step < 4; ++step) {
      accuracy.update(scores[step % 2], target[step % 2]);
      moments.update(numbers[step % 2], numbers[step % 2] + 1);
    }
    accuracy.compute();
    moments.compute();
    MulticlassAccuracy elsewhere(5);
    elsewhere.update(scores[1], target[1]);
    accuracy.merge(elsewhere);
  }
}

} // namespace
} // namespace devsan::metrics
