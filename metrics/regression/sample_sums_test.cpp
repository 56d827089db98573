// All metrics that are sums over samples, each against its definition as a plain loop.
#include "metrics/regression/sample_sums.h"

#include <cmath>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "metrics/regression/cosine_similarity.h"
#include "metrics/regression/jensen_shannon_divergence.h"
#include "metrics/regression/kl_divergence.h"
#include "metrics/regression/log_cosh_error.h"
#include "metrics/regression/mean_absolute_error.h"
#include "metrics/regression/mean_absolute_percentage_error.h"
#include "metrics/regression/mean_squared_error.h"
#include "metrics/regression/mean_squared_log_error.h"
#include "metrics/regression/symmetric_mean_absolute_percentage_error.h"
#include "metrics/regression/tweedie_deviance_score.h"
#include "metrics/regression/weighted_mean_absolute_percentage_error.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

enum class Inputs { kReal, kPositive, kVectors, kDistributions, kLogDistributions };

struct Family {
  std::string title;
  Inputs inputs;
  std::function<std::unique_ptr<SampleSums>(at::ScalarType, std::optional<Accumulation>)> make;
  std::function<at::Tensor(const at::Tensor &, const at::Tensor &, const at::Tensor &weight)>
      functional;
  // Rows of `d` numbers; a row is a sample, or every number is one.
  std::function<double(const std::vector<double> &x, const std::vector<double> &y, size_t d)>
      reference;
};

template <typename M, typename Options>
Family family(std::string title, Inputs inputs, Options options,
              at::Tensor (*functional)(const at::Tensor &, const at::Tensor &, const Options &,
                                       const at::Tensor &),
              decltype(Family::reference) reference) {
  return {std::move(title), inputs,
          [options](at::ScalarType dtype, std::optional<Accumulation> accumulation) {
            return std::make_unique<M>(Options(options).dtype(dtype).accumulation(accumulation));
          },
          [options, functional](const at::Tensor &preds, const at::Tensor &target,
                                const at::Tensor &weight) {
            return functional(preds, target, options, weight);
          },
          std::move(reference)};
}

using Vector = std::vector<double>;
using PerSample = std::function<double(double x, double y)>;
using PerRow = std::function<double(const double *x, const double *y, size_t d)>;

decltype(Family::reference) mean_of(PerSample term) {
  return [term](const Vector &x, const Vector &y, size_t) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i)
      sum += term(x[i], y[i]);
    return sum / static_cast<double>(x.size());
  };
}

decltype(Family::reference) over_rows(Reduction reduction, PerRow term) {
  return [=](const Vector &x, const Vector &y, size_t d) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); i += d)
      sum += term(&x[i], &y[i], d);
    return reduction == Reduction::kSum ? sum : sum / (static_cast<double>(x.size()) / d);
  };
}

double deviance(double power, double x, double y) {
  if (power == 0)
    return (x - y) * (x - y);
  if (power == 1)
    return 2 * ((y == 0 ? 0 : y * std::log(y / x)) - y + x);
  if (power == 2)
    return 2 * (std::log(x / y) + y / x - 1);
  return 2 * (std::pow(std::max(y, 0.), 2 - power) / ((1 - power) * (2 - power)) -
              y * std::pow(x, 1 - power) / (1 - power) + std::pow(x, 2 - power) / (2 - power));
}

double cosine(const double *x, const double *y, size_t d) {
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < d; ++i) {
    xy += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
  }
  return xy / std::sqrt(xx * yy);
}

Vector distribution(const double *x, size_t d, bool logs) {
  Vector p(x, x + d);
  double total = 0;
  for (double &value : p) {
    value = logs ? std::exp(value) : value;
    total += value;
  }
  for (double &value : p)
    value /= logs ? 1 : total;
  return p;
}

double entropy(const Vector &p, const Vector &q) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i)
    sum += p[i] == 0 ? 0 : p[i] * std::log(p[i] / q[i]);
  return sum;
}

double jensen_shannon(const Vector &p, const Vector &q) {
  Vector middle(p);
  for (size_t i = 0; i < p.size(); ++i)
    middle[i] = (p[i] + q[i]) / 2;
  return (entropy(p, middle) + entropy(q, middle)) / 2;
}

std::vector<Family> families() {
  const PerSample square = [](double x, double y) { return (x - y) * (x - y); };
  std::vector<Family> all{
      family<MeanSquaredError>("MSE", Inputs::kReal, MeanSquaredErrorOptions(), mean_squared_error,
                               mean_of(square)),
      family<MeanSquaredError>("RMSE", Inputs::kReal, MeanSquaredErrorOptions().squared(false),
                               mean_squared_error,
                               [=](const Vector &x, const Vector &y, size_t d) {
                                 return std::sqrt(mean_of(square)(x, y, d));
                               }),
      family<MeanAbsoluteError>("MAE", Inputs::kReal, MeanAbsoluteErrorOptions(),
                                mean_absolute_error,
                                mean_of([](double x, double y) { return std::abs(x - y); })),
      family<MeanAbsolutePercentageError>(
          "MAPE", Inputs::kReal, MeanAbsolutePercentageErrorOptions(),
          mean_absolute_percentage_error, mean_of([](double x, double y) {
            return std::abs(x - y) / std::max(std::abs(y), 1.17e-6);
          })),
      family<SymmetricMeanAbsolutePercentageError>(
          "SMAPE", Inputs::kReal, SymmetricMeanAbsolutePercentageErrorOptions(),
          symmetric_mean_absolute_percentage_error, mean_of([](double x, double y) {
            return 2 * std::abs(x - y) / std::max(std::abs(x) + std::abs(y), 1.17e-6);
          })),
      family<WeightedMeanAbsolutePercentageError>("WMAPE", Inputs::kReal,
                                                  WeightedMeanAbsolutePercentageErrorOptions(),
                                                  weighted_mean_absolute_percentage_error,
                                                  [](const Vector &x, const Vector &y, size_t) {
                                                    double error = 0, scale = 0;
                                                    for (size_t i = 0; i < x.size(); ++i) {
                                                      error += std::abs(x[i] - y[i]);
                                                      scale += std::abs(y[i]);
                                                    }
                                                    return error / scale;
                                                  }),
      family<MeanSquaredLogError>(
          "MSLE", Inputs::kPositive, MeanSquaredLogErrorOptions(), mean_squared_log_error,
          mean_of([](double x, double y) { return std::pow(std::log1p(x) - std::log1p(y), 2); })),
      family<LogCoshError>("LogCosh", Inputs::kReal, LogCoshErrorOptions(), log_cosh_error,
                           mean_of([](double x, double y) { return std::log(std::cosh(x - y)); }))};
  for (const double power : {-1., 0., 1., 1.5, 2., 3.})
    all.push_back(family<TweedieDevianceScore>(
        "Tweedie " + std::to_string(power), Inputs::kPositive, TweedieDevianceScoreOptions(power),
        tweedie_deviance_score,
        mean_of([power](double x, double y) { return deviance(power, x, y); })));
  for (const Reduction reduction : {Reduction::kMean, Reduction::kSum}) {
    all.push_back(family<CosineSimilarity>("Cosine", Inputs::kVectors,
                                           CosineSimilarityOptions().reduction(reduction),
                                           cosine_similarity, over_rows(reduction, cosine)));
    for (const bool logs : {false, true}) {
      const Inputs inputs = logs ? Inputs::kLogDistributions : Inputs::kDistributions;
      all.push_back(family<KLDivergence>(
          "KL", inputs, KLDivergenceOptions().reduction(reduction).log_prob(logs), kl_divergence,
          over_rows(reduction, [logs](const double *x, const double *y, size_t d) {
            return entropy(distribution(x, d, logs), distribution(y, d, logs));
          })));
      all.push_back(family<JensenShannonDivergence>(
          "JS", inputs, JensenShannonDivergenceOptions().reduction(reduction).log_prob(logs),
          jensen_shannon_divergence,
          over_rows(reduction, [logs](const double *x, const double *y, size_t d) {
            return jensen_shannon(distribution(x, d, logs), distribution(y, d, logs));
          })));
    }
  }
  return all;
}

struct Batch {
  at::Tensor preds, target;
  Batch part(int64_t start, int64_t length, at::Device device) const {
    return {preds.narrow(0, start, length).to(device), target.narrow(0, start, length).to(device)};
  }
};

constexpr int64_t kColumns = 5;

Batch random_batch(const Family &family, int64_t n, at::ScalarType dtype = at::kDouble) {
  const auto draw = [&] {
    const at::Tensor x = at::randn({n, kColumns}, at::kDouble);
    switch (family.inputs) {
    case Inputs::kReal:
    case Inputs::kVectors:
      return x + 0.3;
    case Inputs::kPositive:
      return x.abs() + 0.1;
    case Inputs::kDistributions:
      return x.abs() + 0.01;
    case Inputs::kLogDistributions:
      return x.log_softmax(1);
    }
    return x;
  };
  return {draw().to(dtype), draw().to(dtype)};
}

double expected(const Family &family, const Batch &batch) {
  return family.reference(values(batch.preds), values(batch.target), kColumns);
}

void update(SampleSums &metric, const Batch &batch) {
  metric.update(batch.preds, batch.target);
}

class SumMetrics : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(5); }
  at::TensorOptions on() const { return at::TensorOptions().device(device()); }
};
DEVSAN_DEVICE_SUITE(SumMetrics);

TEST_P(SumMetrics, EqualTheirDefinitionsOverSeveralUpdates) {
  for (const Family &family : families()) {
    SCOPED_TRACE(family.title);
    const Batch all = random_batch(family, 60);
    const auto metric = family.make(at::kDouble, std::nullopt);
    int64_t start = 0;
    for (const int64_t length : {1, 0, 22, 37}) {
      update(*metric, all.part(start, length, device()));
      start += length;
    }
    const at::Tensor result = metric->compute();
    const double value = expected(family, all);
    EXPECT_EQ(result.device(), device());
    EXPECT_EQ(result.dim(), 0);
    EXPECT_NEAR(values(result)[0], value, 1e-12 * std::max(1., std::abs(value)));

    const Batch moved = all.part(0, 60, device());
    const at::Tensor at_once = family.functional(moved.preds, moved.target, {});
    EXPECT_EQ(at_once.scalar_type(), at::kFloat);
    EXPECT_NEAR(values(at_once)[0], value, 1e-6 * std::max(1., std::abs(value)));
  }
}

// A weight of k counts as k samples.
TEST_P(SumMetrics, TakeWeights) {
  for (const Family &family : families())
    for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair}) {
      SCOPED_TRACE(family.title);
      const Batch all = random_batch(family, 30);
      const bool rows = family.inputs >= Inputs::kVectors;
      const at::Tensor times = at::randint(0, 4, {30}, at::kLong);
      const at::Tensor weight = rows ? times : times.unsqueeze(1).expand({30, kColumns});
      const auto metric = family.make(at::kDouble, format);
      Batch repeated = all;
      repeated.preds = all.preds.repeat_interleave(times, 0);
      repeated.target = all.target.repeat_interleave(times, 0);
      for (const auto &[start, length] : {std::pair(0, 1), {1, 0}, {1, 20}}) {
        const Batch part = all.part(start, length, device());
        metric->update(part.preds, part.target, weight.narrow(0, start, length).to(device()));
      }
      const Batch rest = all.part(21, 9, device());
      const auto other = family.make(at::kDouble, format);
      for (int64_t i = 0; i < 9; ++i)
        for (int64_t k = 0; k < values<int64_t>(times)[21 + i]; ++k)
          other->update(rest.preds.narrow(0, i, 1), rest.target.narrow(0, i, 1));
      metric->merge(*other);
      const double value = expected(family, repeated);
      EXPECT_NEAR(values(metric->compute())[0], value,
                  (format == Accumulation::kDouble ? 1e-12 : 1e-5) * std::max(1., std::abs(value)));

      const Batch moved = all.part(0, 30, device());
      EXPECT_NEAR(values(family.functional(moved.preds, moved.target, weight.to(device())))[0],
                  value, 1e-6 * std::max(1., std::abs(value)));
      const auto before = values(metric->compute());
      EXPECT_ERROR(metric->update(moved.preds, moved.target, at::ones({7}, on())), metric->name(),
                   "weight", "[7]", "one weight");
      EXPECT_ERROR(metric->update(moved.preds, moved.target, at::ones({30}, at::kMeta)), "weight",
                   "meta");
      EXPECT_EQ(values(metric->compute()), before);
    }
}

TEST_P(SumMetrics, TakeHalfPrecisionAndPairsOfFloat32) {
  for (const Family &family : families())
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat}) {
      SCOPED_TRACE(family.title);
      const Batch all = random_batch(family, 200, dtype);
      const double value = expected(family, all);
      for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair}) {
        const auto metric = family.make(at::kFloat, format);
        update(*metric, all.part(0, 60, device()));
        update(*metric, all.part(60, 140, device()));
        EXPECT_EQ(metric->compute().scalar_type(), at::kFloat);
        const double tolerance = format == Accumulation::kDouble ? 1e-7 : 3e-6;
        EXPECT_NEAR(values(metric->compute())[0], value, tolerance * std::max(1., std::abs(value)))
            << dtype;
      }
    }
}

// The CPU goes through large batches in blocks, and in one pass where they are contiguous.
TEST_P(SumMetrics, TakeLargeBatchesOfAnyLayout) {
  for (const Family &family : families()) {
    SCOPED_TRACE(family.title);
    const Batch all = random_batch(family, 4001, at::kFloat);
    const double value = expected(family, all);
    const at::Tensor preds = all.preds.to(device()), target = all.target.to(device());
    const at::Tensor columns = at::empty({kColumns, 4001}, target.options()).t().copy_(target);
    for (const at::Tensor &laid_out : {target, columns, target.to(at::kDouble)}) {
      const auto metric = family.make(at::kDouble, std::nullopt);
      metric->update(preds, laid_out);
      EXPECT_NEAR(values(metric->compute())[0], value, 1e-11 * std::max(1., std::abs(value)));
    }
  }
}

TEST_P(SumMetrics, MergeAsIfSeenByOne) {
  for (const Family &family : families()) {
    SCOPED_TRACE(family.title);
    const Batch all = random_batch(family, 50);
    const auto make = [&] { return family.make(at::kDouble, std::nullopt); };
    const auto left = make(), right = make(), nothing = make();
    update(*left, all.part(0, 3, device()));
    update(*right, all.part(3, 47, device()));
    left->merge(*nothing);
    nothing->merge(*right);
    left->merge(*nothing);
    const double value = expected(family, all);
    EXPECT_NEAR(values(left->compute())[0], value, 1e-12 * std::max(1., std::abs(value)));
  }
}

TEST_P(SumMetrics, RefuseWrongInputsAndKeepTheirStates) {
  for (const Family &family : families()) {
    const auto metric = family.make(at::kFloat, std::nullopt);
    const std::string name = metric->name();
    EXPECT_ERROR(metric->compute(), name, "before the first update");
    const Batch batch = random_batch(family, 4).part(0, 4, device());
    update(*metric, batch);
    const Vector before = values(metric->compute());
    EXPECT_ERROR(metric->update(batch.preds, batch.target.narrow(0, 0, 3)), name, "[4, 5]",
                 "[3, 5]", "same shape");
    EXPECT_ERROR(metric->update(batch.preds.gt(0), batch.target), name, "preds", "Bool", "real");
    EXPECT_ERROR(metric->update(batch.preds, batch.target.to(at::kComplexDouble)), name, "target",
                 "ComplexDouble");
    EXPECT_ERROR(metric->update(batch.preds, at::Tensor()), name, "target", "undefined");
    EXPECT_ERROR(metric->update(batch.preds, at::empty({4, 5}, at::kMeta)), name, "meta");
    EXPECT_EQ(values(metric->compute()), before);
    if (family.inputs >= Inputs::kVectors)
      EXPECT_ERROR(metric->update(at::ones({4}, on()), at::ones({4}, on())), name, "[4]", "[N, D]");
  }
}

TEST_P(SumMetrics, UpdateOnMetaTensors) {
  for (const Family &family : families()) {
    const auto metric = family.make(at::kFloat, std::nullopt);
    for (int step = 0; step < 2; ++step)
      metric->update(at::empty({4, 5}, at::kMeta), at::empty({4, 5}, at::kMeta));
    EXPECT_EQ(metric->compute().dim(), 0) << family.title;
  }
}

TEST_P(SumMetrics, JudgeEachOutputOnItsOwn) {
  const Batch all = random_batch(families()[0], 30);
  const Batch moved = all.part(0, 30, device());
  const auto expect_columns = [&](auto function, auto options) {
    const at::Tensor result = function(moved.preds, moved.target, options.dtype(at::kDouble), {});
    ASSERT_EQ(result.sizes(), at::IntArrayRef({kColumns}));
    for (int64_t column = 0; column < kColumns; ++column)
      EXPECT_NEAR(values(result)[column],
                  values(function(moved.preds.select(1, column), moved.target.select(1, column),
                                  options.num_outputs(1), {}))[0],
                  1e-13);
    EXPECT_ERROR(function(moved.preds, moved.target, options.num_outputs(2), {}), "[30, 5]",
                 "num_outputs is 2", "[N, 2]");
    EXPECT_ERROR(function(moved.preds, moved.target, options.num_outputs(0), {}),
                 "num_outputs is 0");
  };
  expect_columns(mean_squared_error, MeanSquaredErrorOptions(kColumns));
  expect_columns(mean_absolute_error, MeanAbsoluteErrorOptions(kColumns));
  expect_columns(log_cosh_error, LogCoshErrorOptions(kColumns));
}

TEST_P(SumMetrics, TakeAnyShapeAndIntegers) {
  const at::Tensor x = at::arange(24, on()).view({2, 3, 4});
  EXPECT_EQ(values(mean_absolute_error(x, x + 2))[0], 2);
  EXPECT_EQ(values(mean_absolute_error(x.to(at::kByte), (x + 2).to(at::kByte)))[0], 2);
  EXPECT_EQ(values(mean_squared_error(at::full({}, 3., on()), at::full({}, 5, on())))[0], 4);
}

TEST_P(SumMetrics, KeepTheirDigits) {
  // float32 would have no digit of the error left after the square or the difference.
  const at::Tensor offset = at::full({100}, 16777216., on().dtype(at::kDouble));
  EXPECT_NEAR(values(mean_squared_error(offset + 0.25, offset))[0], 0.0625, 1e-9);
  // Nor would a float32 sum of so many batches.
  MeanAbsoluteError metric(MeanAbsoluteErrorOptions().accumulation(Accumulation::kFloatPair));
  const at::Tensor zero = at::zeros({1}, on()), tenth = at::full({1}, 0.1, on());
  for (int batch = 0; batch < 1500; ++batch)
    metric.update(tenth, zero);
  EXPECT_EQ(static_cast<float>(values(metric.compute())[0]), 0.1f);
}

TEST_P(SumMetrics, AreDefinedAtTheEdges) {
  const auto row = [&](Vector numbers) {
    return at::tensor(numbers, at::kDouble).unsqueeze(0).to(device());
  };
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(values(log_cosh_error(row({1e6, -1e300}), row({0, -1e300})))[0],
              (1e6 - std::log(2.)) / 2, 0.1);
  EXPECT_EQ(values(weighted_mean_absolute_percentage_error(row({0}), row({0})))[0], 0);
  EXPECT_TRUE(std::isnan(values(mean_squared_error(row({NAN}), row({0})))[0]));
  const at::Tensor none = at::empty({0}, on());
  EXPECT_TRUE(std::isnan(values(mean_squared_error(none, none))[0]));
  EXPECT_ERROR(TweedieDevianceScore(0.5), "TweedieDevianceScore", "power=0.5");
  EXPECT_ERROR(TweedieDevianceScore(1.5).merge(TweedieDevianceScore(1.5 + 1e-9)), "power=1.5)",
               "power=1.500000001)"); // numbers that only look alike

  EXPECT_TRUE(std::isnan(values(metrics::cosine_similarity(row({0, 0}), row({1, 2})))[0]));
  EXPECT_NEAR(values(metrics::cosine_similarity(row({3e100, 4e100}), row({6e-100, 8e-100})))[0], 1,
              1e-7);

  EXPECT_EQ(values(kl_divergence(row({1, 0}), row({0, 1})))[0], infinity);
  EXPECT_EQ(values(kl_divergence(row({1, 0}), row({1, 0})))[0], 0);
  const auto logs = KLDivergenceOptions().log_prob(true);
  EXPECT_EQ(values(kl_divergence(row({0, -infinity}), row({0, -infinity}), logs))[0], 0);
  EXPECT_EQ(values(kl_divergence(row({0, -infinity}), row({-infinity, 0}), logs))[0], infinity);
  EXPECT_EQ(values(kl_divergence(row({0, -720}), row({0, -infinity}), logs))[0], infinity);
  EXPECT_TRUE(std::isnan(values(kl_divergence(row({0, NAN}), row({0, -1}), logs))[0]));
  EXPECT_NEAR(values(jensen_shannon_divergence(row({1, 0}), row({0, 1})))[0], std::log(2.), 1e-7);
  const auto js_logs = JensenShannonDivergenceOptions().log_prob(true);
  const auto js = [&](const at::Tensor &p, const at::Tensor &q) {
    return values(jensen_shannon_divergence(p, q, js_logs))[0];
  };
  EXPECT_NEAR(js(row({0, -infinity}), row({-infinity, 0})), std::log(2.), 1e-7);
  EXPECT_EQ(js(row({0, -infinity}), row({0, -infinity})), 0);
  EXPECT_NEAR(js(row({0, -800}), row({0, -infinity})), 0, 1e-15);
  EXPECT_TRUE(std::isnan(js(row({0, NAN}), row({0, -1}))));
}

TEST_P(SumMetrics, NoticeValuesTheyAreNotDefinedForAtOnce) {
  const auto refuses = [&](SampleSums &&metric, Vector preds, Vector target, const char *domain) {
    const at::Tensor good = at::ones({1, 2}, on());
    metric.update(good, good);
    const int64_t n = static_cast<int64_t>(preds.size()) / 2;
    const at::Tensor x = at::tensor(preds, at::kDouble).view({n, 2}).to(device());
    const at::Tensor y = at::tensor(target, at::kDouble).view({n, 2}).to(device());
    EXPECT_ERROR(metric.update(x, y), metric.name(), " samples", domain, "correct");
    EXPECT_NEAR(values(metric.compute())[0], 0, 1e-15);
  };
  const auto tweedie = [](double power) {
    return TweedieDevianceScore(TweedieDevianceScoreOptions(power).validate(Validate::kEager));
  };
  refuses(tweedie(-1), {1, 0}, {1, 1}, "1 of 2");
  refuses(tweedie(1), {1, 1}, {0, -1},
          "'preds' has to be strictly positive and 'targets' cannot be negative");
  refuses(tweedie(1.5), {-1, 0}, {0, -1}, "2 of 2");
  refuses(tweedie(2), {1, 1}, {0, 1}, "both 'preds' and 'targets' have to be strictly positive");
  refuses(MeanSquaredLogError(MeanSquaredLogErrorOptions().validate(Validate::kEager)), {0, -1},
          {0, 0}, "preds > -1");
  refuses(KLDivergence(KLDivergenceOptions().validate(Validate::kEager)), {0, 1, 0.5, -0.5},
          {1, 1, 0.5, 0.5}, "1 of 2");
  refuses(JensenShannonDivergence(JensenShannonDivergenceOptions().validate(Validate::kEager)),
          {1, 1, 1, 1}, {0, 0, 1, 1}, "a sum above 0");
}

TEST_P(SumMetrics, LeaveOutAndCountValuesTheyAreNotDefinedFor) {
  TweedieDevianceScore metric(TweedieDevianceScoreOptions(2).validate(Validate::kDeferred)),
      good(TweedieDevianceScoreOptions(2).validate(Validate::kDeferred));
  const at::Tensor ones = at::ones({2}, on());
  metric.update(at::tensor(Vector{1, -1, 0, 4}).to(device()), at::ones({4}, on()));
  metric.update(at::tensor(Vector{2}).to(device()), at::zeros({1}, on()));
  EXPECT_EQ(values<int64_t>(metric.state_dict()["out_of_range"])[0], 3);
  EXPECT_EQ(values<int64_t>(metric.state_dict()["total"])[0], 2);
  EXPECT_NEAR(values(metric.state_dict()["sum_deviance_score"])[0], deviance(2, 4, 1), 1e-12);
  EXPECT_ERROR(metric.check_valid(), "TweedieDevianceScore", "3 samples",
               "both 'preds' and 'targets'");
  if (device().is_cpu())
    EXPECT_ERROR(metric.compute(), "3 samples", "both 'preds' and 'targets'");
  else
    EXPECT_TRUE(std::isnan(values(metric.compute())[0]));
  good.update(ones, ones);
  EXPECT_EQ(values(good.compute())[0], 0);
}

// Shorter than a vector, whole ones and a rest; more rows than are added in one block.
TEST(CosineOnCpu, TakesRowsOfAnyWidth) {
  at::manual_seed(17);
  for (const int64_t width : {1, 7, 8, 9, 16, 27})
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      const at::Tensor x = at::randn({2500, width}, dtype), y = at::randn({2500, width}, dtype);
      const at::Tensor a = x.to(at::kDouble), b = y.to(at::kDouble);
      const at::Tensor expected = (a * b).sum(1) / (a.square().sum(1) * b.square().sum(1)).sqrt();
      const auto options = CosineSimilarityOptions().dtype(at::kDouble);
      EXPECT_NEAR(values(metrics::cosine_similarity(x, y, options))[0], values(expected.sum())[0],
                  1e-10)
          << width;
      x.select(0, 3).zero_();
      EXPECT_TRUE(std::isnan(values(metrics::cosine_similarity(x, y, options))[0]));
    }
}

class SumMetricsNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(SumMetricsNoSync);

TEST_P(SumMetricsNoSync, NeverWaitForTheDevice) {
  const std::vector<Family> all = families();
  std::vector<Batch> batches;
  {
    const test::HostAccessScope host_access;
    for (const Family &family : all)
      batches.push_back(random_batch(family, 16).part(0, 16, device()));
  }
  const devsan::ExpectNoSync no_sync;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto metric = all[i].make(at::kFloat, std::nullopt),
               other = all[i].make(at::kFloat, std::nullopt);
    update(*other, batches[i]);
    for (int step = 0; step < 2; ++step)
      update(*metric, batches[i]);
    metric->merge(*other);
    EXPECT_EQ(metric->compute().device(), device());
  }
}

} // namespace
} // namespace devsan::metrics
