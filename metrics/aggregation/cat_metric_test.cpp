// CatMetric, and by it what every metric with list states does.
#include "metrics/aggregation/cat_metric.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"
#include "test/support/warnings.h"

namespace devsan::metrics {
namespace {

using test::values;
using Vector = std::vector<double>;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

class Cat : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(8); }
  at::TensorOptions on() const { return at::TensorOptions().device(device()); }
  at::Tensor numbers(Vector x) const { return at::tensor(x, at::kDouble).to(device()); }
};
DEVSAN_DEVICE_SUITE(Cat);

TEST_P(Cat, GivesAllRowsInOrder) {
  CatMetric metric;
  EXPECT_ERROR(metric.compute(), "CatMetric", "before the first update");
  metric.update(numbers({}));
  EXPECT_EQ(metric.compute().sizes(), at::IntArrayRef({0}));
  metric.update(numbers({1, 2}));
  metric.update(numbers({3}));
  EXPECT_EQ(values(metric.compute()), (Vector{1, 2, 3}));
  metric.update(at::full({}, 4., on()));
  metric.update(5);
  metric.update(numbers({}));
  const at::Tensor result = metric.compute();
  EXPECT_EQ(values(result), (Vector{1, 2, 3, 4, 5}));
  EXPECT_EQ(values(metric.compute()), values(result));
  EXPECT_EQ(result.device(), device());
  EXPECT_EQ(result.scalar_type(), at::kDouble);
  metric.reset();
  metric.update(at::ones({2, 3}, on().dtype(at::kHalf)));
  metric.update(at::zeros({0, 3}, on().dtype(at::kLong)));
  metric.update(at::zeros({1, 3}, on().dtype(at::kFloat)));
  EXPECT_EQ(metric.compute().sizes(), at::IntArrayRef({3, 3}));
  EXPECT_EQ(metric.compute().scalar_type(), at::kFloat);
}

TEST_P(Cat, KeepsTheTensorsThemselves) {
  CatMetric metric;
  at::Tensor x = numbers({1, 2});
  metric.update(x);
  metric.update(numbers({3}));
  x.add_(1);
  EXPECT_ERROR(metric.compute(), "CatMetric", "`value` was written to", "clone()");
  EXPECT_ERROR(metric.state_dict(), "written to");
  metric.reset();
  metric.update(x);
  EXPECT_EQ(values(metric.compute()), (Vector{2, 3}));
  x.add_(1); // concatenated, and with it copied
  metric.update(x);
  EXPECT_EQ(values(metric.compute()), (Vector{2, 3, 3, 4}));
}

TEST_P(Cat, KeepsNoGraphAndNoInferenceTensors) {
  CatMetric metric;
  const at::Tensor leaf = numbers({1}).requires_grad_();
  metric.update(leaf * 2);
  {
    const c10::InferenceMode inference;
    metric.update(numbers({3}));
  }
  const at::Tensor state = metric.states()[0];
  EXPECT_FALSE(state.requires_grad());
  EXPECT_FALSE(state.is_inference());
  EXPECT_EQ(values(state), (Vector{2, 3}));
}

TEST_P(Cat, MergesMovesSavesAndLoads) {
  CatMetric left, right, empty, restored;
  left.update(numbers({1, 2}));
  right.update(numbers({3}));
  right.update(numbers({4}));
  left.merge(empty);
  empty.merge(right);
  left.merge(empty);
  EXPECT_EQ(values(left.compute()), (Vector{1, 2, 3, 4}));
  left.update(numbers({5}));
  restored.load_state_dict(left.state_dict());
  restored.update(numbers({6}));
  EXPECT_EQ(values(restored.compute()), (Vector{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(left.compute()), (Vector{1, 2, 3, 4, 5}));
  left.update(numbers({6}));
  left.to(at::kCPU);
  EXPECT_EQ(left.compute().device(), at::kCPU);
  EXPECT_EQ(values(left.compute()), (Vector{1, 2, 3, 4, 5, 6}));
  right.merge(right);
  EXPECT_EQ(values(right.compute()), (Vector{3, 4, 3, 4}));
  torch::OrderedDict<std::string, at::Tensor> scalar;
  scalar.insert("value", at::full({}, 1., on()));
  EXPECT_ERROR(CatMetric().load_state_dict(scalar), "CatMetric", "`value`");
}

TEST_P(Cat, SyncsUnevenAndEmptyRanksOfDifferentDtypes) {
  const std::vector<Vector> parts{{}, {1, 2, 3}, {4}, {}};
  for (const bool idle : {false, true})
    test::onRanks(4, [&](const Group &group) {
      CatMetric metric;
      const Vector &part = parts[group->getRank()];
      const at::Tensor rows = numbers(part).to(group->getRank() == 2 ? at::kFloat : at::kByte);
      if (!(idle && part.empty())) {
        metric.update(rows);
        metric.update(rows.narrow(0, 0, 0));
      }
      metric.sync(group);
      EXPECT_EQ(values(metric.compute()), (Vector{1, 2, 3, 4}));
      EXPECT_EQ(metric.compute().scalar_type(), at::kFloat);
      EXPECT_ERROR(metric.update(rows), "unsync()");
      metric.unsync();
      if (!(idle && part.empty()))
        EXPECT_EQ(values(metric.compute()), part);
      metric.update(rows);
    });
  test::onRanks(2, [&](const Group &group) {
    CatMetric rows;
    rows.update(at::full({2 - group->getRank(), 2, 3}, group->getRank(), on()));
    rows.sync(group);
    EXPECT_EQ(rows.compute().sizes(), at::IntArrayRef({3, 2, 3}));
    CatMetric nothing;
    nothing.update(numbers({}));
    nothing.sync(group);
    EXPECT_EQ(nothing.compute().sizes(), at::IntArrayRef({0}));
  });
}

TEST_P(Cat, SyncOfDifferentRowsIsAnErrorOnEachRank) {
  test::onRanks(2, [&](const Group &group) {
    CatMetric metric;
    metric.update(at::ones({3, 2 + group->getRank()}, on()));
    EXPECT_ERROR(metric.sync(group), "CatMetric", "`value`", "[3, 3] on rank 1",
                 "[3, 2] on rank 0");
    EXPECT_EQ(metric.compute().size(0), 3);
  });
}

TEST_P(Cat, TreatsNanAsTheStrategySays) {
  const auto result = [&](NanStrategy strategy) {
    CatMetric metric{CatMetricOptions(strategy).validate(Validate::kDeferred)};
    metric.update(numbers({1, NAN}));
    metric.update(numbers({3}));
    return metric.compute();
  };
  EXPECT_EQ(values(result(NanStrategy::kIgnore)), (Vector{1, 3}));
  {
    const test::Warnings warnings;
    EXPECT_EQ(values(result(NanStrategy::kWarn)), (Vector{1, 3}));
    ASSERT_EQ(warnings.messages().size(), 1u);
    EXPECT_NE(warnings.messages()[0].find("CatMetric: Encountered `nan` values in tensor. Will be removed: 1"), std::string::npos);
  }
  EXPECT_EQ(values(result(0.5)), (Vector{1, 0.5, 3}));
  EXPECT_TRUE(std::isnan(values(result(NanStrategy::kDisable))[1]));
  if (device().is_cpu())
    EXPECT_ERROR(result(NanStrategy::kError), "CatMetric", "1 of 3", "nan_strategy");
  else
    EXPECT_TRUE(std::isnan(values(result(NanStrategy::kError))[0]));

  CatMetric eager{CatMetricOptions(NanStrategy::kError).validate(Validate::kEager)};
  eager.update(numbers({1}));
  EXPECT_ERROR(eager.update(numbers({2, NAN})), "1 of 2");
  EXPECT_EQ(values(eager.compute()), (Vector{1}));
  CatMetric rows{CatMetricOptions(NanStrategy::kIgnore)};
  rows.update(numbers({1, 2, NAN, 4, 5, 6}).view({3, 2}));
  EXPECT_EQ(values(rows.compute()), (Vector{1, 2, 5, 6}));
}

TEST_P(Cat, RefusesDtypesThatCannotBeConcatenated) {
  CatMetric metric;
  const at::Tensor x = at::ones({2}, device());
  metric.update(x);
  EXPECT_ERROR(metric.update(x.to(at::kUInt16)), "CatMetric", "`value` has dtype UInt16", "int64");
  EXPECT_ERROR(metric.update(x.to(at::kFloat8_e5m2)), "`value` has dtype Float8_e5m2", "float32");
  EXPECT_EQ(metric.compute().size(0), 2);
}

TEST_P(Cat, RefusesRowsOfAnotherSize) {
  CatMetric metric, other;
  metric.update(at::ones({2, 3}, on()));
  EXPECT_ERROR(metric.update(at::ones({2, 4}, on())), "CatMetric", "[2, 4]", "[2, 3]",
               "first dimension");
  metric.compute();
  EXPECT_ERROR(metric.update(at::ones({2}, on())), "[2]", "[2, 3]");
  EXPECT_ERROR(metric.update(at::ones({1, 1, 1, 1, 1, 1, 1, 1}, on())), "at most 7 dimensions");
  EXPECT_ERROR(metric.update(at::ones({2, 3}, at::kMeta)), "meta");
  other.update(at::ones({2, 4}, on()));
  EXPECT_ERROR(metric.merge(other), "CatMetric", "[2, 4]", "[2, 3]");
  EXPECT_EQ(metric.compute().sizes(), at::IntArrayRef({2, 3}));
}

TEST_P(Cat, UpdateRunsOnMetaTensors) {
  CatMetric metric{CatMetricOptions(NanStrategy::kError)};
  metric.update(at::ones({2, 3}, at::kMeta));
  metric.update(at::ones({1, 3}, at::kMeta));
  EXPECT_EQ(metric.states()[0].sizes(), at::IntArrayRef({3, 3}));
}

class CatNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(CatNoSync);

TEST_P(CatNoSync, WaitsOnlyWhereTheResultHasToShrink) {
  at::Tensor x;
  {
    const test::HostAccessScope host_access;
    x = at::rand({8}).to(device());
  }
  const devsan::ExpectNoSync no_sync;
  for (const NanStrategy strategy :
       {NanStrategy(NanStrategy::kError), NanStrategy(NanStrategy::kDisable), NanStrategy(1.)}) {
    CatMetric metric{CatMetricOptions(strategy)}, other{CatMetricOptions(strategy)};
    for (int step = 0; step < 3; ++step)
      metric.update(x);
    other.update(x);
    metric.merge(other);
    EXPECT_EQ(metric.compute().size(0), 32);
  }
  CatMetric warning;
  warning.update(x);
  warning.update(x);
  EXPECT_EQ(warning.states()[0].size(0), 16);
}

} // namespace
} // namespace devsan::metrics
