#include "metrics/regression/concordance_corr_coef.h"

#include <gtest/gtest.h>

#include "metrics/regression/correlation_reference.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

class Concordance : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(2); }
};
DEVSAN_DEVICE_SUITE(Concordance);

TEST_P(Concordance, EqualsTheTextbookFormulaOverSeveralUpdates) {
  for (const bool unbiased : {true, false}) {
    ConcordanceCorrCoef metric(ConcordanceCorrCoefOptions(2).unbiased(unbiased).dtype(at::kDouble));
    const Pairs all = random_pairs(120, 2, 3);
    const at::Tensor shifted = all.target * 0.8 + 0.3;
    for (int64_t start = 0; start < 120; start += 30)
      metric.update(all.preds.narrow(0, start, 30).to(device()),
                    shifted.narrow(0, start, 30).to(device()));
    const std::vector<double> result = values(metric.compute());
    for (int64_t output = 0; output < 2; ++output)
      EXPECT_NEAR(
          result[output],
          ReferenceMoments(values(all.preds.select(1, output)), values(shifted.select(1, output)))
              .concordance(unbiased),
          1e-12);
  }
}

TEST_P(Concordance, KeepsItsDigitsWhereTheMeanIsLarge) {
  for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair}) {
    ConcordanceCorrCoef metric(ConcordanceCorrCoefOptions().accumulation(format));
    std::vector<at::Tensor> preds, target;
    for (int batch = 0; batch < 50; ++batch) {
      const Pairs pairs = random_pairs(64, 1, 1e4);
      preds.push_back((pairs.preds + 0.25).to(at::kFloat));
      target.push_back(pairs.target.to(at::kFloat));
      metric.update(preds.back().to(device()), target.back().to(device()));
    }
    const ReferenceMoments reference(values(at::cat(preds)), values(at::cat(target)));
    EXPECT_NEAR(values(metric.compute())[0], reference.concordance(true), 2e-7);
  }
}

TEST_P(Concordance, IsOneForAgreementAndZeroForAConstant) {
  const at::Tensor x = at::randn({50}).to(device());
  const at::Tensor constant = at::full({50}, 0.1, x.options());
  ConcordanceCorrCoef same, flat, both_flat;
  same.update(x, x);
  flat.update(constant, x);
  both_flat.update(constant, constant);
  EXPECT_FLOAT_EQ(values(same.compute())[0], 1);
  EXPECT_EQ(values(flat.compute())[0], 0);
  EXPECT_TRUE(std::isnan(values(both_flat.compute())[0]));
}

TEST_P(Concordance, AccumulatesHalfPrecisionWide) {
  const Pairs all = random_pairs(4000, 1, 8);
  const at::Tensor preds = all.preds.to(at::kHalf), target = all.target.to(at::kHalf);
  ConcordanceCorrCoef metric;
  metric.update(preds.to(device()), target.to(device()));
  EXPECT_NEAR(values(metric.compute())[0],
              ReferenceMoments(values(preds), values(target)).concordance(true), 1e-6);
}

TEST_P(Concordance, MergesOnlyWithTheSameOptions) {
  ConcordanceCorrCoef metric, other(ConcordanceCorrCoefOptions().unbiased(false));
  EXPECT_ERROR(metric.merge(other), "ConcordanceCorrCoef", "unbiased=false", "unbiased=true");
  EXPECT_ERROR(ConcordanceCorrCoef(ConcordanceCorrCoefOptions(-1)), "num_outputs", "-1");
}

TEST_P(Concordance, UpdateRunsOnMetaTensors) {
  ConcordanceCorrCoef metric;
  metric.update(at::empty({5}, at::kMeta), at::empty({5}, at::kMeta));
  EXPECT_EQ(metric.compute().dim(), 0);
}

class ConcordanceNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(ConcordanceNoSync);

TEST_P(ConcordanceNoSync, NeverWaitsForTheDevice) {
  Pairs host{};
  {
    const test::HostAccessScope host_access;
    host = random_pairs(64, 2);
    host = {host.preds.to(device()), host.target.to(device())};
  }
  const devsan::ExpectNoSync no_sync;
  ConcordanceCorrCoef metric(ConcordanceCorrCoefOptions(2)), other(ConcordanceCorrCoefOptions(2));
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
