#include "metrics/regression/pearson_corr_coef.h"

#include <gtest/gtest.h>

#include "metrics/regression/correlation_reference.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

double reference(const at::Tensor &preds, const at::Tensor &target) {
  return ReferenceMoments(values(preds), values(target)).pearson();
}

class Pearson : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(1); }
};
DEVSAN_DEVICE_SUITE(Pearson);

TEST_P(Pearson, EqualsTheTextbookFormulaOverSeveralUpdates) {
  PearsonCorrCoef metric(PearsonCorrCoefOptions().dtype(at::kDouble));
  const Pairs all = random_pairs(500);
  int64_t start = 0;
  for (const int64_t length : {1, 0, 7, 200, 292}) {
    metric.update(all.preds.narrow(0, start, length).to(device()),
                  all.target.narrow(0, start, length).to(device()));
    start += length;
  }
  const at::Tensor result = metric.compute();
  EXPECT_EQ(result.device(), device());
  EXPECT_EQ(result.dim(), 0);
  EXPECT_NEAR(values(result)[0], reference(all.preds, all.target), 1e-12);
}

TEST_P(Pearson, KeepsItsDigitsWhereTheMeanIsLarge) {
  for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair}) {
    PearsonCorrCoef metric(PearsonCorrCoefOptions().accumulation(format));
    std::vector<at::Tensor> preds, target;
    for (int batch = 0; batch < 50; ++batch) {
      const Pairs pairs = random_pairs(64, 1, 1e4);
      preds.push_back(pairs.preds.to(at::kFloat));
      target.push_back(pairs.target.to(at::kFloat));
      metric.update(preds.back().to(device()), target.back().to(device()));
    }
    EXPECT_NEAR(values(metric.compute())[0], reference(at::cat(preds), at::cat(target)), 2e-7);
  }
}

TEST_P(Pearson, AccumulatesHalfPrecisionWide) {
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    PearsonCorrCoef metric;
    const Pairs all = random_pairs(4000, 1, 8);
    const at::Tensor preds = all.preds.to(dtype), target = all.target.to(dtype);
    metric.update(preds.to(device()), target.to(device()));
    EXPECT_EQ(metric.compute().scalar_type(), at::kFloat);
    EXPECT_NEAR(values(metric.compute())[0], reference(preds, target), 1e-6) << dtype;
  }
}

TEST_P(Pearson, CorrelatesEachOutputOnItsOwn) {
  PearsonCorrCoef metric(PearsonCorrCoefOptions(3).dtype(at::kDouble));
  const Pairs all = random_pairs(90, 3);
  metric.update(all.preds.narrow(0, 0, 40).to(device()), all.target.narrow(0, 0, 40).to(device()));
  metric.update(all.preds.narrow(0, 40, 50).to(device()),
                all.target.narrow(0, 40, 50).to(device()));
  const std::vector<double> result = values(metric.compute());
  ASSERT_EQ(result.size(), 3u);
  for (int64_t output = 0; output < 3; ++output)
    EXPECT_NEAR(result[output],
                reference(all.preds.select(1, output), all.target.select(1, output)), 1e-12);
}

TEST_P(Pearson, MergesAsIfSeenByOne) {
  const Pairs all = random_pairs(100);
  PearsonCorrCoef whole(PearsonCorrCoefOptions().dtype(at::kDouble)),
      left(PearsonCorrCoefOptions().dtype(at::kDouble)),
      right(PearsonCorrCoefOptions().dtype(at::kDouble)),
      empty(PearsonCorrCoefOptions().dtype(at::kDouble));
  whole.update(all.preds.to(device()), all.target.to(device()));
  left.update(all.preds.narrow(0, 0, 3).to(device()), all.target.narrow(0, 0, 3).to(device()));
  right.update(all.preds.narrow(0, 3, 97).to(device()), all.target.narrow(0, 3, 97).to(device()));
  left.merge(empty);
  empty.merge(right);
  left.merge(empty);
  EXPECT_NEAR(values(left.compute())[0], values(whole.compute())[0], 1e-13);
  EXPECT_EQ(values<int64_t>(left.states()[0])[0], 100);
}

TEST_P(Pearson, IsNaNWhereItIsNotDefined) {
  const auto on = at::TensorOptions().device(device());
  PearsonCorrCoef one_sample;
  one_sample.update(at::ones({1}, on), at::ones({1}, on));
  EXPECT_TRUE(std::isnan(values(one_sample.compute())[0]));

  for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair}) {
    PearsonCorrCoef constant(PearsonCorrCoefOptions().accumulation(format));
    for (int batch = 0; batch < 10; ++batch)
      constant.update(at::full({33}, 0.1, on), at::randn({33}).to(device()));
    EXPECT_TRUE(std::isnan(values(constant.compute())[0]));
  }
  PearsonCorrCoef constant_double;
  constant_double.update(at::full({1000}, 0.1, on.dtype(at::kDouble)),
                         at::randn({1000}, at::kDouble).to(device()));
  EXPECT_TRUE(std::isnan(values(constant_double.compute())[0]));

  PearsonCorrCoef with_nan;
  with_nan.update(at::full({5}, NAN, on), at::randn({5}).to(device()));
  EXPECT_TRUE(std::isnan(values(with_nan.compute())[0]));
}

TEST_P(Pearson, StaysWithinOneAndDoesNotOverflow) {
  const at::Tensor x = at::randn({100}, at::kDouble).to(device());
  PearsonCorrCoef metric(PearsonCorrCoefOptions().dtype(at::kDouble));
  metric.update(x * 1e100, x * -1e90);
  EXPECT_GE(values(metric.compute())[0], -1);
  EXPECT_NEAR(values(metric.compute())[0], -1, 1e-14);
}

TEST_P(Pearson, TakesIntegersAndColumns) {
  PearsonCorrCoef metric;
  const at::Tensor x = at::arange(10, at::TensorOptions().device(device()));
  metric.update(x.unsqueeze(1), (2 * x + 1).unsqueeze(1));
  EXPECT_NEAR(values(metric.compute())[0], 1, 1e-7);
}

TEST_P(Pearson, RefusesWrongInputsAndKeepsItsStates) {
  const auto on = at::TensorOptions().device(device());
  PearsonCorrCoef metric(PearsonCorrCoefOptions(2));
  const Pairs pairs = random_pairs(20, 2);
  metric.update(pairs.preds.to(device()), pairs.target.to(device()));
  const std::vector<double> before = values(metric.compute());
  EXPECT_ERROR(metric.update(at::ones({4}, on), at::ones({4}, on)), "PearsonCorrCoef", "preds",
               "[4]", "[N, 2]");
  EXPECT_ERROR(metric.update(at::ones({4, 2}, on), at::ones({5, 2}, on)), "PearsonCorrCoef",
               "[4, 2]", "[5, 2]");
  EXPECT_ERROR(metric.update(at::ones({4, 2}, on.dtype(at::kComplexFloat)), at::ones({4, 2}, on)),
               "ComplexFloat");
  EXPECT_ERROR(metric.update(at::Tensor(), at::ones({4, 2}, on)), "undefined");
  EXPECT_EQ(values(metric.compute()), before);
  EXPECT_ERROR(PearsonCorrCoef(PearsonCorrCoefOptions(0)), "num_outputs", "0");
}

TEST_P(Pearson, UpdateRunsOnMetaTensors) {
  PearsonCorrCoef metric(PearsonCorrCoefOptions(3));
  metric.update(at::empty({5, 3}, at::kMeta), at::empty({5, 3}, at::kMeta));
  metric.update(at::empty({5, 3}, at::kMeta), at::empty({5, 3}, at::kMeta));
  EXPECT_EQ(metric.compute().sizes(), at::IntArrayRef({3}));
}

// The numbers that a batch begins with are where its deviations are taken from.
TEST(PearsonOnCpu, MayBeginWithOutliers) {
  at::manual_seed(11);
  at::Tensor x = at::randn({5000}, at::kDouble), y = x + at::randn({5000}, at::kDouble);
  for (const int64_t outliers : {1, 40, 64}) {
    at::Tensor far_x = x.clone(), far_y = y.clone();
    far_x.narrow(0, 0, outliers) += 1e7;
    far_y.narrow(0, 0, outliers) -= 1e7;
    const at::Tensor dx = far_x - far_x.mean(), dy = far_y - far_y.mean();
    const double expected =
        ((dx * dy).sum() / (dx.square().sum() * dy.square().sum()).sqrt()).item<double>();
    PearsonCorrCoef metric(PearsonCorrCoefOptions().dtype(at::kDouble));
    metric.update(far_x, far_y);
    EXPECT_NEAR(values(metric.compute())[0], expected, 1e-13) << outliers;
  }
}

TEST(PearsonOnCpu, TakesFloatsThatAreHardToAdd) {
  at::manual_seed(12);
  for (const Pairs &pairs : hard_pairs(20000))
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      PearsonCorrCoef metric(PearsonCorrCoefOptions().dtype(dtype));
      metric.update(pairs.preds, pairs.target);
      EXPECT_NEAR(values(metric.compute())[0], reference(pairs.preds, pairs.target),
                  dtype == at::kFloat ? 2e-7 : 1e-12);
    }
}

class PearsonNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(PearsonNoSync);

TEST_P(PearsonNoSync, NeverWaitsForTheDevice) {
  Pairs host{};
  {
    const test::HostAccessScope host_access;
    host = random_pairs(64, 2);
    host = {host.preds.to(device()), host.target.to(device())};
  }
  const devsan::ExpectNoSync no_sync;
  PearsonCorrCoef metric(PearsonCorrCoefOptions(2)), other(PearsonCorrCoefOptions(2));
  other.update(host.preds, host.target);
  for (int step = 0; step < 3; ++step) {
    metric.update(host.preds, host.target);
    metric.compute();
  }
  metric.merge(other);
  EXPECT_EQ(metric.compute().device(), device());
}

} // namespace
} // namespace devsan::metrics
