// All aggregators, against plain loops.
#include "metrics/aggregation/aggregator.h"

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/aggregation/max_metric.h"
#include "metrics/aggregation/mean_metric.h"
#include "metrics/aggregation/min_metric.h"
#include "metrics/aggregation/sum_metric.h"
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
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An aggregator behind one update(), and what it gives for the values of each update.
struct Subject {
  std::unique_ptr<Aggregator> metric;
  std::function<void(const at::Tensor &)> update;
};

struct Family {
  std::string title;
  std::function<Subject(const AggregatorOptions &)> make;
  std::function<double(const std::vector<Vector> &updates)> reference;
};

template <typename M, typename Options> Subject subject(const Options &options) {
  auto metric = std::make_unique<M>(options);
  M *raw = metric.get();
  return {std::move(metric), [raw](const at::Tensor &value) { raw->update(value); }};
}

template <typename M> Subject running(int64_t window, const AggregatorOptions &options) {
  return subject<M>(RunningOptions(window)
                        .nan_strategy(options.nan_strategy())
                        .validate(options.validate())
                        .dtype(options.dtype())
                        .accumulation(options.accumulation()));
}

Vector joined(const std::vector<Vector> &updates, size_t window = -1) {
  Vector all;
  for (size_t i = updates.size() - std::min(window, updates.size()); i < updates.size(); ++i)
    all.insert(all.end(), updates[i].begin(), updates[i].end());
  return all;
}

double sum(const Vector &x) {
  return std::accumulate(x.begin(), x.end(), 0.);
}
double mean(const Vector &x) {
  return sum(x) / static_cast<double>(x.size());
}

std::vector<Family> families() {
  using Updates = std::vector<Vector>;
  std::vector<Family> all{
      {"Mean", subject<MeanMetric, AggregatorOptions>,
       [](const Updates &updates) { return mean(joined(updates)); }},
      {"Sum", subject<SumMetric, AggregatorOptions>,
       [](const Updates &updates) { return sum(joined(updates)); }},
      {"Max", subject<MaxMetric, AggregatorOptions>,
       [](const Updates &updates) {
         double result = -kInfinity;
         for (const double x : joined(updates))
           result = std::isnan(x) || x > result ? x : result;
         return result;
       }},
      {"Min", subject<MinMetric, AggregatorOptions>, [](const Updates &updates) {
         double result = kInfinity;
         for (const double x : joined(updates))
           result = std::isnan(x) || x < result ? x : result;
         return result;
       }}};
  for (const int64_t window : {1, 3}) {
    all.push_back({"RunningMean",
                   [window](const auto &options) { return running<RunningMean>(window, options); },
                   [window](const Updates &updates) { return mean(joined(updates, window)); }});
    all.push_back({"RunningSum",
                   [window](const auto &options) { return running<RunningSum>(window, options); },
                   [window](const Updates &updates) { return sum(joined(updates, window)); }});
  }
  return all;
}

const auto kDoubleResult = AggregatorOptions(NanStrategy::kIgnore).dtype(at::kDouble);

class Aggregation : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(7); }
  at::TensorOptions on() const { return at::TensorOptions().device(device()); }
  at::Tensor numbers(Vector x) const { return at::tensor(x, at::kDouble).to(device()); }
  double value(const Aggregator &metric) const { return values(metric.compute())[0]; }
};
DEVSAN_DEVICE_SUITE(Aggregation);

TEST_P(Aggregation, EqualsLoopsOverSeveralUpdates) {
  for (const Family &family : families())
    for (const at::ScalarType dtype :
         {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kByte, at::kBool})
      for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair}) {
        SCOPED_TRACE(family.title + " " + c10::toString(dtype));
        const Subject subject = family.make(AggregatorOptions(kDoubleResult).accumulation(format));
        std::vector<Vector> updates;
        for (const std::vector<int64_t> &sizes :
             std::vector<std::vector<int64_t>>{{2, 3, 4}, {}, {7}, {0}, {1, 5}}) {
          const at::Tensor batch = (at::rand(sizes, at::kDouble) * 5).to(dtype);
          updates.push_back(values(batch));
          subject.update(batch.to(device()));
          const at::Tensor result = subject.metric->compute();
          const double expected = family.reference(updates);
          EXPECT_EQ(result.device(), device());
          EXPECT_EQ(result.dim(), 0);
          if (std::isnan(expected)) // a window of one empty update
            EXPECT_TRUE(std::isnan(values(result)[0]));
          else
            EXPECT_NEAR(values(result)[0], expected,
                        (format == Accumulation::kDouble ? 1e-13 : 5e-7) *
                            std::max(1., std::abs(expected)));
        }
      }
}

TEST_P(Aggregation, TakesLargeBatchesOfAnyLayout) {
  const at::Tensor x = at::randn({101, 203}, at::kDouble);
  for (const Family &family : families())
    for (const at::Tensor &laid_out : {x, x.t()}) {
      const Subject subject = family.make(kDoubleResult);
      subject.update(laid_out.to(device()));
      EXPECT_NEAR(values(subject.metric->compute())[0], family.reference({values(x)}), 1e-10);
    }
}

TEST_P(Aggregation, MergesAndSyncsAsIfSeenByOne) {
  for (const Family &family : families()) {
    if (family.title.starts_with("Running"))
      continue;
    SCOPED_TRACE(family.title);
    const Vector all{3, -2, 8, 0.5, 4};
    const Subject left = family.make(kDoubleResult), right = family.make(kDoubleResult),
                  nothing = family.make(kDoubleResult);
    left.update(numbers({3}));
    right.update(numbers({-2, 8, 0.5, 4}));
    left.metric->merge(*nothing.metric);
    nothing.metric->merge(*right.metric);
    left.metric->merge(*nothing.metric);
    EXPECT_DOUBLE_EQ(value(*left.metric), family.reference({all}));

    for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair})
      test::onRanks(3, [&](const Group &group) {
        const Subject subject = family.make(AggregatorOptions(kDoubleResult).accumulation(format));
        if (group->getRank() == 0)
          subject.update(numbers({3, -2}));
        if (group->getRank() == 2)
          subject.update(numbers({8, 0.5, 4}));
        subject.metric->sync(group);
        EXPECT_NEAR(value(*subject.metric), family.reference({all}), 1e-6);
      });
  }
}

TEST_P(Aggregation, TreatsNanAsTheStrategySays) {
  const std::vector<Vector> raw{{1, NAN, 4}, {NAN}, {-2, 3}};
  const std::vector<Vector> kept{{1, 4}, {}, {-2, 3}}, replaced{{1, 0.5, 4}, {0.5}, {-2, 3}};
  for (const Family &family : families()) {
    SCOPED_TRACE(family.title);
    const auto result = [&](NanStrategy strategy, size_t updates) {
      const Subject subject = family.make(AggregatorOptions(strategy).dtype(at::kDouble));
      for (size_t i = 0; i < updates; ++i)
        subject.update(numbers(raw[i]));
      return value(*subject.metric);
    };
    for (const size_t updates : {1, 3}) {
      const auto first = [&](const std::vector<Vector> &x) {
        return family.reference({x.begin(), x.begin() + updates});
      };
      EXPECT_DOUBLE_EQ(result(NanStrategy::kIgnore, updates), first(kept));
      EXPECT_DOUBLE_EQ(result(0.5, updates), first(replaced));
    }
    EXPECT_TRUE(std::isnan(result(NanStrategy::kDisable, 1)));
  }
  EXPECT_ERROR(NanStrategy{NanStrategy::kReplace}, "number that replaces");
}

TEST_P(Aggregation, ReportsNanAtOnceWhereAsked) {
  for (const Family &family : families()) {
    SCOPED_TRACE(family.title);
    const auto eager = [&](NanStrategy strategy) {
      return family.make(AggregatorOptions(strategy).validate(Validate::kEager));
    };
    const Subject error = eager(NanStrategy::kError), warning = eager(NanStrategy::kWarn);
    error.update(numbers({5}));
    EXPECT_ERROR(error.update(numbers({1, NAN, NAN})), error.metric->name(), "2 values", "`nan`",
                 "nan_strategy");
    EXPECT_EQ(value(*error.metric), 5);

    const test::Warnings warnings;
    warning.update(numbers({5}));
    warning.update(numbers({NAN, 5}));
    EXPECT_EQ(value(*warning.metric), family.reference({{5}, {5}}));
    ASSERT_EQ(warnings.messages().size(), 1u);
    EXPECT_NE(warnings.messages()[0].find(warning.metric->name() + ": Encountered `nan` values in tensor. Will be removed: 1"),
              std::string::npos);
  }
}

TEST_P(Aggregation, ReportsNanLaterWhereItMustNotWait) {
  for (const Family &family : families()) {
    SCOPED_TRACE(family.title);
    const Subject error =
        family.make(AggregatorOptions(NanStrategy::kError).validate(Validate::kDeferred));
    error.update(numbers({5, NAN}));
    EXPECT_ERROR(error.metric->check_nan(), error.metric->name(), "1 values");
    if (device().is_cpu())
      EXPECT_ERROR(error.metric->compute(), "1 values", "nan_strategy");
    else
      EXPECT_TRUE(std::isnan(value(*error.metric)));

    const Subject warning =
        family.make(AggregatorOptions(NanStrategy::kWarn).validate(Validate::kDeferred));
    warning.update(numbers({5, NAN}));
    const test::Warnings warnings;
    EXPECT_EQ(value(*warning.metric), 5);
    EXPECT_EQ(warnings.messages().size(), device().is_cpu() ? 1u : 0u);
    warning.metric->check_nan();
    EXPECT_EQ(warnings.messages().size(), device().is_cpu() ? 2u : 1u);
  }
}

TEST_P(Aggregation, WeighsTheMean) {
  const auto mean_of = [&](auto &&...inputs) {
    MeanMetric metric(kDoubleResult);
    metric.update(inputs...);
    return values(metric.compute())[0];
  };
  const at::Tensor x = at::rand({3, 4}, at::kDouble), row = at::rand({4}, at::kDouble),
                   full = at::rand({3, 4}, at::kDouble);
  double by_row = 0, by_full = 0;
  for (int64_t i = 0; i < 12; ++i) {
    by_row += values(x)[i] * values(row)[i % 4] / (3 * sum(values(row)));
    by_full += values(x)[i] * values(full)[i] / sum(values(full));
  }
  const at::Tensor moved = x.to(device());
  EXPECT_NEAR(mean_of(moved, row.to(device())), by_row, 1e-14);
  EXPECT_NEAR(mean_of(moved, full.to(device())), by_full, 1e-14);
  EXPECT_NEAR(mean_of(moved, 0.3), mean(values(x)), 1e-14);

  MeanMetric metric(kDoubleResult);
  metric.update(numbers({2, 4}), 3);
  metric.update(numbers({10}), numbers({4}));
  metric.update(numbers({1, 1, 1}), numbers({0, NAN, 0}));
  metric.update(7, 2); // on the metric's device
  EXPECT_DOUBLE_EQ(value(metric), (6 * 3 + 10 * 4 + 7 * 2) / 12.);

  MeanMetric replaced(AggregatorOptions(2.).dtype(at::kDouble));
  replaced.update(numbers({NAN, 5, 8}), numbers({3, NAN, 4}));
  EXPECT_DOUBLE_EQ(value(replaced), (2 + 2 + 8 * 4) / 6.);
  MeanMetric disabled(AggregatorOptions(NanStrategy::kDisable).dtype(at::kDouble));
  disabled.update(numbers({5, 8}), numbers({1, 3}));
  EXPECT_DOUBLE_EQ(value(disabled), (5 + 8 * 3) / 4.);

  EXPECT_ERROR(metric.update(moved, numbers({1, 2, 3})), "MeanMetric", "weight", "[3]", "[3, 4]");
  EXPECT_ERROR(metric.update(numbers({1}), moved), "weight", "[3, 4]", "[1]");
  EXPECT_ERROR(metric.update(moved, at::empty({4}, at::kMeta)), "weight", "meta");
  EXPECT_ERROR(metric.update(at::Tensor(), 1.), "value", "undefined");
}

TEST_P(Aggregation, TakesNumbers) {
  MaxMetric max;
  max.to(device());
  max.update(3);
  max.update(-1.5);
  EXPECT_EQ(max.compute().device(), device());
  EXPECT_EQ(value(max), 3);
  MeanMetric mean;
  mean.update(3);
  EXPECT_EQ(mean.device(), at::Device(at::kCPU));
  EXPECT_EQ(value(mean), 3);
}

TEST_P(Aggregation, IsDefinedForNoValues) {
  const Vector expected{NAN, 0, -kInfinity, kInfinity};
  for (size_t i = 0; i < expected.size(); ++i)
    for (const at::Tensor &none : {numbers({}), numbers({NAN, NAN})}) {
      const Subject subject = families()[i].make(AggregatorOptions(NanStrategy::kIgnore));
      EXPECT_ERROR(subject.metric->compute(), subject.metric->name(), "before the first update");
      subject.update(none);
      const double result = value(*subject.metric);
      EXPECT_TRUE(result == expected[i] || (std::isnan(result) && std::isnan(expected[i])));
    }
}

TEST_P(Aggregation, RunningMergesTheLastUpdatesOfEach) {
  const auto options = RunningSumOptions(2).nan_strategy(NanStrategy::kIgnore).dtype(at::kDouble);
  RunningSum left(options), right(options);
  for (const double x : {1, 2, 4})
    left.update(x);
  right.update(8);
  left.merge(right);
  EXPECT_EQ(value(left), 2 + 4 + 8);
  left.update(16);
  EXPECT_EQ(value(left), 4 + 8 + 16);
  left.update(32);
  EXPECT_EQ(value(left), 16 + 32);
  EXPECT_ERROR(left.merge(RunningSum(RunningSumOptions(options).window(3))), "window=3",
               "window=2");
  EXPECT_ERROR(RunningMean(0), "RunningMean", "window is 0");
}

TEST_P(Aggregation, NanLeavesTheWindow) {
  RunningSum metric(
      RunningSumOptions(2).nan_strategy(NanStrategy::kError).validate(Validate::kDeferred));
  metric.update(numbers({NAN}));
  metric.update(numbers({2}));
  EXPECT_ERROR(metric.check_nan(), "RunningSum", "1 values");
  metric.update(numbers({3}));
  metric.check_nan();
  EXPECT_EQ(value(metric), 5);
}

TEST_P(Aggregation, KeepsItsDigits) {
  const auto pairs = AggregatorOptions(NanStrategy::kIgnore).accumulation(Accumulation::kFloatPair);
  MeanMetric mean(pairs);
  const at::Tensor tenth = at::full({1}, 0.1, on());
  for (int step = 0; step < 1500; ++step)
    mean.update(tenth);
  EXPECT_EQ(static_cast<float>(value(mean)), 0.1f);

  MaxMetric max(kDoubleResult);
  const double above_one = std::nextafter(1., 2.);
  max.update(numbers({1, above_one}));
  EXPECT_EQ(value(max), above_one);

  SumMetric sum(kDoubleResult);
  sum.update(numbers({16777216}).to(at::kFloat));
  sum.update(numbers({1}).to(at::kFloat));
  EXPECT_EQ(value(sum), 16777217);
}

TEST_P(Aggregation, NanStaysWhenMerged) {
  const AggregatorOptions disable(NanStrategy::kDisable);
  MaxMetric with_nan(disable), without(disable);
  with_nan.update(numbers({NAN}));
  without.update(numbers({3}));
  without.merge(with_nan);
  without.update(numbers({9}));
  EXPECT_TRUE(std::isnan(value(without)));
}

TEST_P(Aggregation, RefusesWrongInputsAndKeepsItsStates) {
  for (const Family &family : families()) {
    const Subject subject = family.make(kDoubleResult);
    subject.update(numbers({4}));
    const std::string name = subject.metric->name();
    EXPECT_ERROR(subject.update(at::ones({2}, on().dtype(at::kComplexFloat))), name, "ComplexFloat",
                 "real");
    EXPECT_ERROR(subject.update(at::empty({2}, at::kMeta)), name, "`value` lies on meta");
    EXPECT_ERROR(subject.update(at::Tensor()), name, "undefined");
    EXPECT_EQ(value(*subject.metric), 4);
    EXPECT_ERROR(subject.metric->merge(*family.make(AggregatorOptions(NanStrategy::kError)).metric),
                 name, "nan_strategy=0");
    // Numbers that only look alike.
    EXPECT_ERROR(family.make(AggregatorOptions(0.5))
                     .metric->merge(*family.make(AggregatorOptions(0.5 + 1e-9)).metric),
                 name, "nan_strategy=4 0.5,", "0.500000001");
  }
}

TEST_P(Aggregation, TakesDtypesThatAreOnlyStored) {
  for (const Family &family : families())
    for (const at::ScalarType dtype : {at::kUInt16, at::kUInt64, at::kFloat8_e5m2}) {
      const Subject subject = family.make(kDoubleResult);
      subject.update(numbers({1, 4, 2}).to(dtype));
      EXPECT_NEAR(value(*subject.metric), family.reference({{1, 4, 2}}), 1e-12) << dtype;
    }
}

TEST_P(Aggregation, UpdateRunsOnMetaTensors) {
  for (const Family &family : families())
    for (const NanStrategy strategy : {NanStrategy(NanStrategy::kWarn), NanStrategy(1.)}) {
      const Subject subject = family.make(strategy);
      subject.update(at::empty({2, 3}, at::kMeta));
      subject.update(at::empty({0}, at::kMeta));
      for (const at::Tensor &state : subject.metric->states())
        EXPECT_TRUE(state.is_meta());
    }
  MeanMetric mean;
  mean.update(at::empty({2, 3}, at::kMeta), at::empty({3}, at::kMeta));
  mean.update(at::empty({2, 3}, at::kMeta), 2);
}

class AggregationNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(AggregationNoSync);

TEST_P(AggregationNoSync, NeverWaitsForTheDevice) {
  at::Tensor x, weight;
  {
    const test::HostAccessScope host_access;
    x = at::rand({8, 4}).to(device());
    weight = at::rand({4}).to(device());
  }
  const devsan::ExpectNoSync no_sync;
  for (const Family &family : families())
    for (const NanStrategy strategy :
         {NanStrategy(NanStrategy::kError), NanStrategy(NanStrategy::kWarn), NanStrategy(1.)}) {
      const Subject subject = family.make(strategy), other = family.make(strategy);
      other.update(x);
      for (int step = 0; step < 3; ++step)
        subject.update(x);
      subject.metric->merge(*other.metric);
      EXPECT_EQ(subject.metric->compute().device(), device());
    }
  MeanMetric mean;
  mean.update(x, weight);
  mean.update(x, 2);
  mean.update(3, 2);
  EXPECT_EQ(mean.compute().device(), device());
}

// Wherever a value stands in what is read at once.
TEST(AggregatorsOnCpu, FindTheExtremeAndANanAtEveryPlace) {
  const auto strategy = [](NanStrategy with) { return MaxMetricOptions(with); };
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble})
    for (const int64_t n : {1, 8, 15, 16, 17, 33}) {
      const at::Tensor x = at::arange(n, at::TensorOptions(dtype)) * 0.01;
      for (int64_t place = 0; place < n; ++place) {
        const at::Tensor high = x.clone(), low = x.clone(), none = x.clone();
        high[place] = 9;
        low[place] = -9;
        none[place] = NAN;
        MaxMetric largest, ignoring(strategy(NanStrategy::kIgnore)),
            keeping(strategy(NanStrategy::kDisable));
        MinMetric smallest;
        largest.update(high);
        smallest.update(low);
        ignoring.update(none);
        keeping.update(none);
        keeping.update(high);
        EXPECT_EQ(values(largest.compute())[0], 9);
        EXPECT_EQ(values(smallest.compute())[0], -9);
        EXPECT_TRUE(std::isnan(values(keeping.compute())[0]));
        SumMetric sum(strategy(NanStrategy::kIgnore));
        sum.update(none);
        EXPECT_NEAR(values(sum.compute())[0], values((x.sum() - x[place]).to(at::kDouble))[0],
                    1e-6);
        if (n > 1) {
          EXPECT_EQ(values(ignoring.compute())[0],
                    values(x[place == n - 1 ? n - 2 : n - 1].to(at::kFloat))[0]);
        }
      }
    }
}

} // namespace
} // namespace devsan::metrics
