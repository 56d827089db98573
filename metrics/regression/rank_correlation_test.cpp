#include "metrics/regression/rank_correlation.h"

#include <cmath>
#include <functional>
#include <memory>

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/regression/correlation_reference.h"
#include "metrics/regression/kendall_rank_corr_coef.h"
#include "metrics/regression/spearman_corr_coef.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Vector = std::vector<double>;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
using Variant = KendallVariant;

double spearman(const Vector &x, const Vector &y) {
  const auto ranks = [](const Vector &numbers) {
    Vector result;
    for (const double a : numbers) {
      double below = 0, equal = 0;
      for (const double b : numbers) {
        below += b < a;
        equal += b == a;
      }
      result.push_back(below + (equal + 1) / 2);
    }
    return result;
  };
  return ReferenceMoments(ranks(x), ranks(y)).pearson();
}

// All pairs, one by one.
double kendall(const Vector &x, const Vector &y, Variant variant) {
  double surplus = 0, untied_x = 0, untied_y = 0;
  const double n = static_cast<double>(x.size());
  const auto distinct = [](Vector numbers) {
    std::sort(numbers.begin(), numbers.end());
    return static_cast<double>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
  };
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      untied_x += x[i] != x[j];
      untied_y += y[i] != y[j];
      surplus += ((x[i] > x[j]) - (x[i] < x[j])) * ((y[i] > y[j]) - (y[i] < y[j]));
    }
  const double m = std::min(distinct(x), distinct(y));
  switch (variant) {
  case Variant::kA:
    return surplus / (n * (n - 1) / 2);
  case Variant::kB:
    return surplus / std::sqrt(untied_x * untied_y);
  case Variant::kC:
    return surplus / (n * n * (m - 1) / (2 * m));
  }
  return 0;
}

struct Family {
  std::string title;
  std::function<std::unique_ptr<RankCorrelation>(int64_t num_outputs, at::ScalarType)> make;
  std::function<double(const Vector &, const Vector &)> reference;
};

std::vector<Family> families() {
  std::vector<Family> all{{"Spearman",
                           [](int64_t num_outputs, at::ScalarType dtype) {
                             return std::make_unique<SpearmanCorrCoef>(
                                 SpearmanCorrCoefOptions(num_outputs).dtype(dtype));
                           },
                           spearman}};
  for (const Variant variant : {Variant::kA, Variant::kB, Variant::kC})
    all.push_back({"Kendall " + std::to_string(static_cast<int>(variant)),
                   [variant](int64_t num_outputs, at::ScalarType dtype) {
                     return std::make_unique<KendallRankCorrCoef>(
                         KendallRankCorrCoefOptions(num_outputs).variant(variant).dtype(dtype));
                   },
                   [variant](const Vector &x, const Vector &y) { return kendall(x, y, variant); }});
  return all;
}

// With ties where `steps` is small.
Pairs tied_pairs(int64_t n, int64_t outputs, double steps) {
  const Pairs pairs = random_pairs(n, outputs);
  return {(pairs.preds * steps).round(), (pairs.target * steps).round()};
}

class RankMetrics : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(9); }
  Pairs moved(const Pairs &pairs, int64_t start, int64_t length) const {
    return {pairs.preds.narrow(0, start, length).to(device()),
            pairs.target.narrow(0, start, length).to(device())};
  }
  at::Tensor numbers(Vector x) const { return at::tensor(x, at::kDouble).to(device()); }
};
DEVSAN_DEVICE_SUITE(RankMetrics);

TEST_P(RankMetrics, EqualTheirDefinitionsOverSeveralUpdates) {
  for (const Family &family : families())
    for (const double steps : {0.7, 2., 1e6})
      for (const int64_t n : {2, 7, 64, 101}) {
        SCOPED_TRACE(family.title + " " + std::to_string(n));
        const Pairs all = tied_pairs(n, 2, steps);
        const auto metric = family.make(2, at::kDouble);
        for (int64_t start = 0, length = 0; start < n; start += length) {
          length = std::min<int64_t>(n - start, 1 + start);
          const Pairs batch = moved(all, start, length);
          metric->update(batch.preds, batch.target);
          metric->update(batch.preds.narrow(0, 0, 0), batch.target.narrow(0, 0, 0));
        }
        const at::Tensor result = metric->compute();
        EXPECT_EQ(result.device(), device());
        ASSERT_EQ(result.sizes(), at::IntArrayRef({2}));
        for (int64_t output = 0; output < 2; ++output) {
          const double expected = family.reference(values(all.preds.select(1, output)),
                                                   values(all.target.select(1, output)));
          const double actual = values(result)[output];
          EXPECT_TRUE(std::isnan(expected) ? std::isnan(actual)
                                           : std::abs(actual - expected) < 1e-12)
              << actual << " " << expected;
        }
      }
}

TEST_P(RankMetrics, TakeAllDtypes) {
  for (const Family &family : families())
    for (const at::ScalarType dtype :
         {at::kHalf, at::kBFloat16, at::kFloat, at::kInt, at::kLong, at::kByte}) {
      Pairs all = tied_pairs(50, 1, 3);
      all = {(all.preds + 40).to(dtype), (all.target + 40).to(dtype)};
      const auto metric = family.make(1, at::kFloat);
      const Pairs batch = moved(all, 0, 50);
      metric->update(batch.preds.unsqueeze(1), batch.target.unsqueeze(1));
      EXPECT_EQ(metric->compute().scalar_type(), at::kFloat);
      EXPECT_NEAR(values(metric->compute())[0],
                  family.reference(values(all.preds), values(all.target)), 1e-6)
          << family.title << dtype;
    }
}

TEST_P(RankMetrics, MergeAndSyncAsIfSeenByOne) {
  for (const Family &family : families()) {
    const Pairs all = tied_pairs(40, 1, 2);
    const double expected = family.reference(values(all.preds), values(all.target));
    const auto left = family.make(1, at::kDouble), right = family.make(1, at::kDouble);
    const Pairs first = moved(all, 0, 13), second = moved(all, 13, 27);
    left->update(first.preds, first.target);
    right->update(second.preds, second.target);
    left->merge(*right);
    EXPECT_NEAR(values(left->compute())[0], expected, 1e-12);

    test::onRanks(3, [&](const Group &group) {
      const auto metric = family.make(1, at::kDouble);
      if (group->getRank() != 1) {
        const Pairs &part = group->getRank() == 0 ? first : second;
        metric->update(part.preds, part.target);
      }
      metric->sync(group);
      EXPECT_NEAR(values(metric->compute())[0], expected, 1e-12);
    });
  }
}

TEST_P(RankMetrics, AreDefinedAtTheEdges) {
  for (const Family &family : families()) {
    SCOPED_TRACE(family.title);
    const auto result = [&](Vector x, Vector y) {
      const auto metric = family.make(1, at::kDouble);
      metric->update(numbers(x), numbers(y));
      return values(metric->compute())[0];
    };
    EXPECT_EQ(result({1, 2, 3}, {10, 20, 1000}), 1);
    EXPECT_EQ(result({1, 2, 3}, {5, -1, -20}), -1);
    EXPECT_TRUE(std::isnan(result({}, {})));
    EXPECT_TRUE(std::isnan(result({1}, {1})));
    EXPECT_TRUE(std::isnan(result({1, NAN, 2}, {1, 2, 3})));
    if (family.title != "Kendall 0")
      EXPECT_TRUE(std::isnan(result({4, 4, 4}, {1, 2, 3})));
    EXPECT_EQ(result({1, INFINITY, 2}, {1, 3, 2}), 1);
  }
}

// Values of scipy.stats.kendalltau(x, y, method="asymptotic", alternative=...).
TEST_P(RankMetrics, KendallHasAPValue) {
  const at::Tensor x = numbers({12, 2, 1, 12, 2, 7, 7, 3}), y = numbers({1, 4, 7, 1, 0, 2, 6, 5});
  const auto p = [&](Alternative alternative) {
    KendallRankCorrCoef metric(
        KendallRankCorrCoefOptions().alternative(alternative).dtype(at::kDouble));
    metric.update(x, y);
    return values(metric.p_value())[0];
  };
  EXPECT_NEAR(p(Alternative::kTwoSided), 0.250888540376329, 1e-9);
  EXPECT_NEAR(p(Alternative::kLess), 0.1254442701881645, 1e-9);
  EXPECT_NEAR(p(Alternative::kGreater), 0.8745557298118355, 1e-9);
}

TEST_P(RankMetrics, RefuseWrongInputsAndKeepTheirStates) {
  for (const Family &family : families()) {
    const auto metric = family.make(2, at::kFloat);
    const std::string name = metric->name();
    const Pairs batch = moved(tied_pairs(20, 2, 5), 0, 20);
    metric->update(batch.preds, batch.target);
    EXPECT_ERROR(metric->update(batch.preds, batch.target.narrow(0, 0, 3)), name, "[3, 2]");
    EXPECT_ERROR(metric->update(batch.preds.select(1, 0), batch.target.select(1, 0)), name, "[20]",
                 "[N, 2]");
    EXPECT_ERROR(metric->update(batch.preds.gt(0), batch.target), name, "Bool");
    for (const at::Tensor &state : metric->states())
      EXPECT_EQ(state.size(0), 20);
    EXPECT_ERROR(family.make(0, at::kFloat), name, "num_outputs is 0");
    batch.target.add_(1); // concatenated already
    metric->update(batch.preds, batch.target);
    batch.target.add_(1);
    EXPECT_ERROR(metric->compute(), name, "`target` was written to");
  }
}

TEST_P(RankMetrics, UpdateOnMetaTensors) {
  for (const Family &family : families()) {
    const auto metric = family.make(1, at::kFloat);
    for (int step = 0; step < 2; ++step)
      metric->update(at::empty({5}, at::kMeta), at::empty({5}, at::kMeta));
    EXPECT_EQ(metric->states()[0].size(0), 10);
  }
}

class RankMetricsNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(RankMetricsNoSync);

TEST_P(RankMetricsNoSync, NeverWaitForTheDevice) {
  Pairs pairs;
  {
    const test::HostAccessScope host_access;
    pairs = tied_pairs(30, 2, 3);
    pairs = {pairs.preds.to(device()), pairs.target.to(device())};
  }
  const devsan::ExpectNoSync no_sync;
  for (const Family &family : families()) {
    const auto metric = family.make(2, at::kFloat);
    for (int step = 0; step < 2; ++step)
      metric->update(pairs.preds, pairs.target);
    EXPECT_EQ(metric->compute().device(), device());
  }
  KendallRankCorrCoef kendall(2);
  kendall.update(pairs.preds, pairs.target);
  EXPECT_EQ(kendall.p_value().device(), device());
}

} // namespace
} // namespace devsan::metrics
