#include "metrics/regression/residual_moments.h"

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "metrics/regression/correlation_reference.h"
#include "metrics/regression/explained_variance.h"
#include "metrics/regression/r2_score.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Vector = std::vector<double>;

// One output, in two passes and extended precision.
struct Reference {
  double score, weight;
};

Reference score(const Vector &preds, const Vector &target, bool explained_variance) {
  const long double n = preds.size();
  long double mean = 0, mean_error = 0, unexplained = 0, total = 0;
  for (size_t i = 0; i < preds.size(); ++i) {
    mean += target[i] / n;
    mean_error += (preds[i] - static_cast<long double>(target[i])) / n;
  }
  for (size_t i = 0; i < preds.size(); ++i) {
    const long double error = preds[i] - static_cast<long double>(target[i]);
    unexplained += std::pow(error - (explained_variance ? mean_error : 0), 2.L);
    total += (target[i] - mean) * (target[i] - mean);
  }
  return {static_cast<double>(1 - unexplained / total), static_cast<double>(total)};
}

Vector reference(const Pairs &pairs, bool explained_variance, Multioutput multioutput,
                 int64_t adjusted = 0) {
  const int64_t n = pairs.preds.size(0);
  const at::Tensor preds = pairs.preds.reshape({n, -1}), target = pairs.target.reshape({n, -1});
  Vector scores;
  double plain = 0, weighted = 0, weights = 0;
  for (int64_t output = 0; output < preds.size(1); ++output) {
    Reference one = score(values(preds.select(1, output)), values(target.select(1, output)),
                          explained_variance);
    one.score = 1 - (1 - one.score) * static_cast<double>(n - 1) / (n - adjusted - 1);
    scores.push_back(one.score);
    plain += one.score;
    weighted += one.score * one.weight;
    weights += one.weight;
  }
  switch (multioutput) {
  case Multioutput::kRawValues:
    return scores;
  case Multioutput::kUniformAverage:
    return {plain / static_cast<double>(scores.size())};
  case Multioutput::kVarianceWeighted:
    return {weighted / weights};
  }
  return {};
}

constexpr auto kModes = {Multioutput::kRawValues, Multioutput::kUniformAverage,
                         Multioutput::kVarianceWeighted};

class Explained : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(6); }
  Pairs moved(const Pairs &pairs, int64_t start, int64_t length) const {
    return {pairs.preds.narrow(0, start, length).to(device()),
            pairs.target.narrow(0, start, length).to(device())};
  }
  // Both metrics.
  void each(int64_t num_outputs, Multioutput multioutput, at::ScalarType dtype,
            std::optional<Accumulation> accumulation,
            const std::function<void(SupervisedMetric &, bool explained_variance)> &body) const {
    R2Score r2(R2ScoreOptions(num_outputs)
                   .multioutput(multioutput)
                   .dtype(dtype)
                   .accumulation(accumulation));
    body(r2, false);
    ExplainedVariance variance(ExplainedVarianceOptions(num_outputs)
                                   .multioutput(multioutput)
                                   .dtype(dtype)
                                   .accumulation(accumulation));
    body(variance, true);
  }
};
DEVSAN_DEVICE_SUITE(Explained);

TEST_P(Explained, EqualsTheDefinitionOverSeveralUpdates) {
  for (const int64_t outputs : {1, 3})
    for (const Multioutput mode : kModes)
      each(outputs, mode, at::kDouble, std::nullopt,
           [&](SupervisedMetric &metric, bool explained_variance) {
             Pairs all = random_pairs(100, outputs, 2);
             all.preds = all.preds + 0.7;
             if (outputs == 3)
               all.target = all.target * at::tensor({1., 4., 0.5});
             int64_t start = 0;
             for (const int64_t length : {1, 0, 40, 59}) {
               const Pairs batch = moved(all, start, length);
               metric.update(batch.preds, batch.target);
               start += length;
             }
             const Vector expected = reference(all, explained_variance, mode);
             const at::Tensor result = metric.compute();
             EXPECT_EQ(result.device(), device());
             EXPECT_EQ(result.dim(), expected.size() == 1 ? 0 : 1);
             const Vector actual = values(result);
             ASSERT_EQ(actual.size(), expected.size());
             for (size_t i = 0; i < actual.size(); ++i)
               EXPECT_NEAR(actual[i], expected[i], 1e-12) << metric.name();
           });
}

TEST_P(Explained, IsAdjustedWhereThereAreEnoughSamples) {
  const Pairs all = random_pairs(12, 2);
  const Pairs batch = moved(all, 0, 12);
  for (const Multioutput mode : kModes) {
    const auto options = R2ScoreOptions(2).multioutput(mode).dtype(at::kDouble);
    const auto at = [&](int64_t adjusted) {
      return values(
          r2_score(batch.preds, batch.target, R2ScoreOptions(options).adjusted(adjusted)));
    };
    const Vector expected = reference(all, false, mode, 10);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(at(10)[i], expected[i], 1e-12);
    EXPECT_EQ(at(11), at(0));
    EXPECT_EQ(at(12), at(0));
  }
  EXPECT_ERROR(R2Score(R2ScoreOptions().adjusted(-1)), "R2Score", "adjusted is -1");
  EXPECT_ERROR(R2Score(R2ScoreOptions(0)), "R2Score", "num_outputs is 0");
}

// A float32 sum of squares at a mean of 1e4 has no digit of the variance left: TorchMetrics gives
// anything but the score here.
TEST_P(Explained, KeepsItsDigitsWhereTheMeanIsLarge) {
  for (const double mean : {1e3, 1e4, 1e6})
    for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair})
      each(1, Multioutput::kUniformAverage, at::kFloat, format,
           [&](SupervisedMetric &metric, bool explained_variance) {
             Pairs all = random_pairs(4000, 1, mean);
             all = {all.preds.to(at::kFloat), all.target.to(at::kFloat)};
             for (int64_t start = 0; start < 4000; start += 80) {
               const Pairs batch = moved(all, start, 80);
               metric.update(batch.preds, batch.target);
             }
             const double expected =
                 reference(all, explained_variance, Multioutput::kUniformAverage)[0];
             EXPECT_NEAR(values(metric.compute())[0], expected, 3e-7) << metric.name() << mean;
           });
}

TEST_P(Explained, TakesLargeBatches) {
  for (const int64_t outputs : {1, 3})
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16})
      each(outputs, Multioutput::kUniformAverage, at::kDouble, std::nullopt,
           [&](SupervisedMetric &metric, bool explained_variance) {
             Pairs all = random_pairs(20001, outputs, 3);
             all = {all.preds.to(dtype), all.target.to(dtype)};
             const Pairs batch = moved(all, 0, 20001);
             metric.update(batch.preds, batch.target);
             metric.update(batch.preds.narrow(0, 0, 0), batch.target.narrow(0, 0, 0));
             EXPECT_NEAR(values(metric.compute())[0],
                         reference(all, explained_variance, Multioutput::kUniformAverage)[0],
                         1e-12);
           });
}

TEST_P(Explained, TakesHalfPrecision) {
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16})
    each(1, Multioutput::kUniformAverage, at::kFloat, std::nullopt,
         [&](SupervisedMetric &metric, bool explained_variance) {
           Pairs all = random_pairs(500, 1, 4);
           all = {all.preds.to(dtype), all.target.to(dtype)};
           const Pairs batch = moved(all, 0, 500);
           metric.update(batch.preds, batch.target);
           EXPECT_NEAR(values(metric.compute())[0],
                       reference(all, explained_variance, Multioutput::kUniformAverage)[0], 1e-6);
         });
}

TEST_P(Explained, MergesAsIfSeenByOne) {
  const Pairs all = random_pairs(90);
  const Pairs first = moved(all, 0, 13), second = moved(all, 13, 77);
  each(1, Multioutput::kUniformAverage, at::kDouble, std::nullopt,
       [&](SupervisedMetric &left, bool explained_variance) {
         each(1, Multioutput::kUniformAverage, at::kDouble, std::nullopt,
              [&](SupervisedMetric &right, bool same) {
                if (same != explained_variance) {
                  EXPECT_ERROR(left.merge(right), "R2Score", "ExplainedVariance");
                  return;
                }
                left.reset();
                left.update(first.preds, first.target);
                right.update(second.preds, second.target);
                left.merge(right);
                EXPECT_NEAR(values(left.compute())[0],
                            reference(all, explained_variance, Multioutput::kUniformAverage)[0],
                            1e-12);
              });
       });
}

TEST_P(Explained, IsDefinedForConstantTargets) {
  const at::Tensor constant = at::full({33}, 0.1, at::kDouble).to(device());
  const at::Tensor other = at::randn({33}, at::kDouble).to(device());
  for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair}) {
    const auto r2 = R2ScoreOptions().accumulation(format);
    const auto variance = ExplainedVarianceOptions().accumulation(format);
    EXPECT_EQ(values(r2_score(constant, constant, r2))[0], 1);
    EXPECT_EQ(values(r2_score(constant + 1, constant, r2))[0], 0);
    EXPECT_EQ(values(r2_score(other, constant, r2))[0], 0);
    EXPECT_EQ(values(explained_variance(constant + 1, constant, variance))[0], 1);
    EXPECT_EQ(values(explained_variance(other, constant, variance))[0], 0);
    EXPECT_TRUE(std::isnan(values(r2_score(other * NAN, constant, r2))[0]));
    EXPECT_TRUE(std::isnan(values(explained_variance(other * NAN, constant, variance))[0]));
  }
  const auto columns = [&](const at::Tensor &a, const at::Tensor &b) {
    return at::stack({a, b}, 1);
  };
  const auto weighted = R2ScoreOptions(2).multioutput(Multioutput::kVarianceWeighted);
  EXPECT_EQ(
      values(r2_score(columns(constant, constant), columns(constant, constant + 1), weighted))[0],
      0.5);
  EXPECT_EQ(values(r2_score(columns(constant, other), columns(constant + 1, other), weighted))[0],
            1);
  // Small numbers are not constant.
  EXPECT_NEAR(values(r2_score(other * 1.1e-8, other * 1e-8))[0],
              score(values(other * 1.1e-8), values(other * 1e-8), false).score, 1e-6);
}

TEST_P(Explained, IsNaNForTooFewSamples) {
  const at::Tensor one = at::ones({1}).to(device()), none = at::ones({0}).to(device());
  EXPECT_TRUE(std::isnan(values(r2_score(one, one))[0]));
  EXPECT_TRUE(std::isnan(values(r2_score(none, none))[0]));
  EXPECT_TRUE(std::isnan(values(explained_variance(none, none))[0]));
  EXPECT_EQ(values(explained_variance(one, one))[0], 1);
}

TEST_P(Explained, RefusesWrongInputsAndKeepsItsStates) {
  each(2, Multioutput::kUniformAverage, at::kFloat, std::nullopt,
       [&](SupervisedMetric &metric, bool) {
         const Pairs batch = moved(random_pairs(20, 2), 0, 20);
         metric.update(batch.preds, batch.target);
         const Vector before = values(metric.compute());
         EXPECT_ERROR(metric.update(batch.preds.select(1, 0), batch.target.select(1, 0)),
                      metric.name(), "[20]", "[N, 2]");
         EXPECT_ERROR(metric.update(batch.preds, batch.target.narrow(0, 0, 3)), "[3, 2]");
         EXPECT_ERROR(metric.update(batch.preds, batch.target.gt(0)), "Bool", "real");
         EXPECT_EQ(values(metric.compute()), before);
       });
}

TEST_P(Explained, UpdateRunsOnMetaTensors) {
  for (const Multioutput mode : kModes)
    each(3, mode, at::kFloat, std::nullopt, [&](SupervisedMetric &metric, bool) {
      for (int step = 0; step < 2; ++step)
        metric.update(at::empty({5, 3}, at::kMeta), at::empty({5, 3}, at::kMeta));
      EXPECT_EQ(metric.compute().dim(), mode == Multioutput::kRawValues ? 1 : 0);
    });
}

// A weight of k counts as k samples.
TEST_P(Explained, TakesWeights) {
  for (const int64_t outputs : {1, 3})
    for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair})
      each(outputs, Multioutput::kRawValues, at::kDouble, format,
           [&](SupervisedMetric &metric, bool explained_variance) {
             auto &weighted = dynamic_cast<WeightedMetric &>(metric);
             const Pairs all = random_pairs(60, outputs, 3);
             const at::Tensor times = at::randint(0, 4, {60}, at::kLong);
             const Pairs repeated{all.preds.repeat_interleave(times, 0),
                                  all.target.repeat_interleave(times, 0)};
             const Vector expected =
                 reference(repeated, explained_variance, Multioutput::kRawValues);
             // Weighted, not weighted, merged, in either order.
             const auto other = metric.clone();
             for (int64_t start = 0; start < 60; start += 20) {
               const Pairs part = moved(all, start, 20);
               const at::Tensor own = times.narrow(0, start, 20);
               if (start == 20) {
                 const at::Tensor index = own.to(device());
                 metric.update(part.preds.repeat_interleave(index, 0),
                               part.target.repeat_interleave(index, 0));
               } else if (start == 0) {
                 weighted.update(part.preds, part.target, own.to(device()));
               } else {
                 dynamic_cast<WeightedMetric &>(*other).update(part.preds, part.target,
                                                               own.to(at::kFloat).to(device()));
               }
             }
             metric.merge(*other);
             const Vector actual = values(metric.compute());
             for (size_t i = 0; i < expected.size(); ++i)
               EXPECT_NEAR(actual[i], expected[i], format == Accumulation::kDouble ? 1e-12 : 1e-5);

             const Pairs part = moved(all, 0, 20);
             EXPECT_ERROR(weighted.update(part.preds, part.target, times.to(device())),
                          metric.name(), "weight", "[60]", "[20]");
             EXPECT_EQ(values(metric.compute()), actual);
             metric.reset();
             weighted.update(part.preds, part.target, times.narrow(0, 0, 20).to(device()) * 0);
             EXPECT_TRUE(std::isnan(values(metric.compute())[0]));
             metric.update(part.preds, part.target);
             EXPECT_NEAR(values(metric.compute())[0],
                         reference({all.preds.narrow(0, 0, 20), all.target.narrow(0, 0, 20)},
                                   explained_variance, Multioutput::kRawValues)[0],
                         format == Accumulation::kDouble ? 1e-12 : 1e-5);
           });
}

TEST(ExplainedOnCpu, TakesFloatsThatAreHardToAdd) {
  at::manual_seed(13);
  for (const Pairs &pairs : hard_pairs(20000)) {
    const Vector preds = values(pairs.preds), target = values(pairs.target);
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      const double tolerance = dtype == at::kFloat ? 2e-7 : 1e-12;
      const double r2 = score(preds, target, false).score;
      EXPECT_NEAR(values(r2_score(pairs.preds, pairs.target, R2ScoreOptions().dtype(dtype)))[0], r2,
                  tolerance * std::max(1., std::abs(r2)));
      EXPECT_NEAR(values(explained_variance(pairs.preds, pairs.target,
                                            ExplainedVarianceOptions().dtype(dtype)))[0],
                  score(preds, target, true).score, tolerance);
    }
  }
}

class ExplainedNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(ExplainedNoSync);

TEST_P(ExplainedNoSync, NeverWaitsForTheDevice) {
  Pairs pairs;
  {
    const test::HostAccessScope host_access;
    pairs = random_pairs(64, 2);
    pairs = {pairs.preds.to(device()), pairs.target.to(device())};
  }
  const devsan::ExpectNoSync no_sync;
  for (const Multioutput mode : kModes) {
    R2Score r2(R2ScoreOptions(2).multioutput(mode).adjusted(3));
    ExplainedVariance variance(ExplainedVarianceOptions(2).multioutput(mode));
    for (int step = 0; step < 3; ++step) {
      r2.update(pairs.preds, pairs.target);
      variance.update(pairs.preds, pairs.target);
      r2.update(pairs.preds, pairs.target, pairs.preds.select(1, 0));
    }
    EXPECT_EQ(r2.compute().device(), device());
    EXPECT_EQ(variance.compute().device(), device());
  }
}

} // namespace
} // namespace devsan::metrics
