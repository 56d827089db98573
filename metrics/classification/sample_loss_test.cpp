// All metrics of the family, each for its tasks, against loops over the samples.
#include "metrics/classification/sample_loss.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "metrics/classification/brier_score.h"
#include "metrics/classification/classification_reference.h"
#include "metrics/classification/hinge_loss.h"
#include "metrics/classification/log_loss.h"
#include "metrics/text/perplexity.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"

namespace devsan::metrics {
namespace {

using test::values;
using Vector = std::vector<double>;

struct LossArguments : Arguments {
  at::ScalarType dtype = at::kDouble;
  std::optional<Accumulation> accumulation = std::nullopt;
};

template <class Options> Options with(Options options, const LossArguments &a) {
  if constexpr (requires { options.from_logits(a.from_logits); })
    options.from_logits(a.from_logits);
  options.ignore_index(a.ignore_index);
  options.validate(a.validate);
  options.dtype(a.dtype);
  options.accumulation(a.accumulation);
  return options;
}

struct LossCase {
  std::string title;
  Task task;
  bool decisions; // scores are any numbers, not probabilities
  std::function<std::unique_ptr<SampleLoss>(const LossArguments &)> make;
  // Of one sample's probabilities (of decisions: numbers), binary those of class 1.
  std::function<Vector(const Vector &, int64_t target)> loss;
  Reduction reduction = Reduction::kMean;
};

template <class M, typename Set>
LossCase loss_case(std::string title, bool decisions, Set set, decltype(LossCase::loss) loss,
                   Reduction reduction = Reduction::kMean) {
  using Options = typename M::Options;
  return {std::move(title),
          Options::kTask,
          decisions,
          [set](const LossArguments &a) {
            auto options = [&] {
              if constexpr (Options::kTask == Task::kBinary)
                return with(Options(), a);
              else
                return with(Options(a.classes), a);
            }();
            set(options);
            return std::make_unique<M>(options);
          },
          std::move(loss),
          reduction};
}

double square(double x) {
  return x * x;
}
double hinge(double margin) {
  return std::max(0., 1 - margin);
}

std::vector<LossCase> cases() {
  const auto plain = [](auto &) {};
  const auto squared = [](auto &options) { options.squared(true); };
  const auto brier = [](const Vector &p, int64_t target) {
    double sum = 0;
    for (size_t c = 0; c < p.size(); ++c)
      sum += square(p[c] - (static_cast<int64_t>(c) == target));
    return sum;
  };
  const auto log_loss = [](const Vector &p, int64_t target) {
    return Vector{-std::log(p.size() > 1 ? p[target] : target ? p[0] : 1 - p[0])};
  };
  const auto margin = [](const Vector &x, int64_t target) {
    double other = -std::numeric_limits<double>::infinity();
    for (size_t c = 0; c < x.size(); ++c)
      if (static_cast<int64_t>(c) != target)
        other = std::max(other, x[c]);
    return x[target] - other;
  };
  const auto one_vs_all = [](auto &options) { options.multiclass_mode(MulticlassMode::kOneVsAll); };
  return {
      loss_case<BinaryBrierScore>(
          "binary Brier", false, plain,
          [](const Vector &p, int64_t target) { return Vector{square(p[0] - target)}; }),
      loss_case<BinaryBrierScore>(
          "binary Brier, both classes", false, [](auto &options) { options.scale_by_half(false); },
          [](const Vector &p, int64_t target) { return Vector{2 * square(p[0] - target)}; }),
      loss_case<MulticlassBrierScore>(
          "multiclass Brier", false, plain,
          [=](const Vector &p, int64_t target) { return Vector{brier(p, target)}; }),
      loss_case<MulticlassBrierScore>(
          "multiclass Brier, half", false, [](auto &options) { options.scale_by_half(true); },
          [=](const Vector &p, int64_t target) { return Vector{brier(p, target) / 2}; }),
      loss_case<BinaryLogLoss>("binary log loss", false, plain, log_loss),
      loss_case<MulticlassLogLoss>("multiclass log loss", false, plain, log_loss),
      loss_case<MulticlassLogLoss>(
          "multiclass log loss, sum", false,
          [](auto &options) { options.reduction(Reduction::kSum); }, log_loss, Reduction::kSum),
      loss_case<BinaryHingeLoss>(
          "binary hinge", true, plain,
          [](const Vector &x, int64_t target) { return Vector{hinge(target ? x[0] : -x[0])}; }),
      loss_case<BinaryHingeLoss>("binary hinge, squared", true, squared,
                                 [](const Vector &x, int64_t target) {
                                   return Vector{square(hinge(target ? x[0] : -x[0]))};
                                 }),
      loss_case<MulticlassHingeLoss>(
          "Crammer-Singer", true, plain,
          [=](const Vector &x, int64_t target) { return Vector{hinge(margin(x, target))}; }),
      loss_case<MulticlassHingeLoss>("Crammer-Singer, squared", true, squared,
                                     [=](const Vector &x, int64_t target) {
                                       return Vector{square(hinge(margin(x, target)))};
                                     }),
      loss_case<MulticlassHingeLoss>("one-vs-all", true, one_vs_all,
                                     [](const Vector &x, int64_t target) {
                                       Vector losses;
                                       for (size_t c = 0; c < x.size(); ++c)
                                         losses.push_back(hinge(
                                             static_cast<int64_t>(c) == target ? x[c] : -x[c]));
                                       return losses;
                                     }),
  };
}

// Probabilities of each sample, summing to 1; or decisions; or logits of either.
Batch scored_batch(const LossCase &metric, int64_t n, const LossArguments &a) {
  const bool probabilities = !metric.decisions && !a.from_logits;
  Batch batch = random_batch(
      metric.task, probabilities && metric.task == Task::kBinary ? Input::kScores : Input::kLogits,
      n, a);
  batch.preds = batch.preds.to(at::kDouble);
  if (probabilities && metric.task == Task::kMulticlass)
    batch.preds = batch.preds.softmax(1);
  return batch;
}

Vector reference(const LossCase &metric, const Batch &batch, const LossArguments &a,
                 const at::Tensor &weight = {}) {
  const bool binary = metric.task == Task::kBinary;
  const auto scores = values(binary ? batch.preds : batch.preds.movedim(1, -1));
  const auto target = values<int64_t>(batch.target);
  const auto weights = weight.defined() ? values(weight) : Vector(target.size(), 1);
  const size_t width = binary ? 1 : static_cast<size_t>(a.classes);
  Vector sums;
  double total = 0;
  for (size_t i = 0; i < target.size(); ++i) {
    if (a.ignore_index && target[i] == *a.ignore_index)
      continue;
    Vector row(scores.begin() + i * width, scores.begin() + (i + 1) * width);
    if (a.from_logits) {
      double sum = 0;
      for (double &x : row) {
        x = binary ? 1 / (1 + std::exp(-x)) : std::exp(x);
        sum += x;
      }
      for (double &x : row)
        x /= binary ? 1 : sum;
    }
    const Vector losses = metric.loss(row, target[i]);
    sums.resize(losses.size());
    for (size_t k = 0; k < losses.size(); ++k)
      sums[k] += weights[i] * losses[k];
    total += weights[i];
  }
  if (metric.reduction == Reduction::kMean)
    for (double &sum : sums)
      sum /= total;
  return sums;
}

void expect_near(const at::Tensor &result, const Vector &expected, double tolerance) {
  const Vector actual = values(result);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(1., std::abs(expected[i])));
}

class SampleLosses : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(3); }
  at::Tensor scores(Vector numbers) const { return at::tensor(numbers, at::kFloat).to(device()); }
  at::Tensor labels(std::vector<int64_t> numbers) const {
    return at::tensor(numbers, at::kLong).to(device());
  }
};
DEVSAN_DEVICE_SUITE(SampleLosses);

TEST_P(SampleLosses, EqualTheirDefinitionsWithWeightsAndWithout) {
  for (const LossCase &metric : cases())
    for (const bool from_logits : {false, true})
      for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {1}, {-100}}) {
        SCOPED_TRACE(metric.title + (from_logits ? ", logits" : ""));
        LossArguments a;
        a.from_logits = from_logits;
        a.ignore_index = ignore_index;
        const Batch all = scored_batch(metric, 40, a);
        const at::Tensor weight = at::rand({40, 2}, at::kDouble) * 3;
        const auto unweighted = metric.make(a), weighted = metric.make(a), mixed = metric.make(a);
        at::Tensor effective = at::ones_like(weight);
        for (const auto &[start, length] : {std::pair(0, 11), {11, 0}, {11, 28}, {39, 1}}) {
          const Batch part = all.narrow(start, length).on(device());
          const at::Tensor own = weight.narrow(0, start, length).to(device());
          unweighted->update(part.preds, part.target);
          weighted->update(part.preds, part.target, own);
          if (start == 0) {
            mixed->update(part.preds, part.target, own.to(at::kFloat));
            effective.narrow(0, 0, 11).copy_(own.to(at::kFloat));
          } else {
            mixed->update(part.preds, part.target);
          }
        }
        EXPECT_EQ(unweighted->compute().device(), device());
        expect_near(unweighted->compute(), reference(metric, all, a), 1e-12);
        expect_near(weighted->compute(), reference(metric, all, a, weight), 1e-12);
        expect_near(mixed->compute(), reference(metric, all, a, effective), 1e-12);
      }
}

TEST_P(SampleLosses, TakeHalfPrecisionAndPairsOfFloat32) {
  for (const LossCase &metric : cases())
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat})
      for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair}) {
        SCOPED_TRACE(metric.title);
        LossArguments a;
        a.dtype = at::kFloat;
        a.accumulation = format;
        a.from_logits = dtype == at::kFloat;
        Batch all = scored_batch(metric, 200, a);
        all.preds = all.preds.to(dtype).clamp(-8, 8);
        if (!a.from_logits && !metric.decisions) // not rounded to 1
          all.preds = all.preds.clamp(0.01, 0.98);
        const at::Tensor weight = at::rand({200, 2});
        const auto metrics = metric.make(a);
        for (const auto &[start, length] : {std::pair(0, 150), {150, 50}}) {
          const Batch part = all.narrow(start, length).on(device());
          metrics->update(part.preds, part.target, weight.narrow(0, start, length).to(device()));
        }
        EXPECT_EQ(metrics->compute().scalar_type(), at::kFloat);
        expect_near(metrics->compute(), reference(metric, all, a, weight), 3e-6);
      }
}

TEST_P(SampleLosses, MergeAndSyncAsIfSeenByOne) {
  for (const LossCase &metric : cases()) {
    SCOPED_TRACE(metric.title);
    LossArguments a;
    const Batch all = scored_batch(metric, 30, a);
    const Vector expected = reference(metric, all, a);
    const auto left = metric.make(a), right = metric.make(a);
    const Batch first = all.narrow(0, 9).on(device()), second = all.narrow(9, 21).on(device());
    left->update(first.preds, first.target);
    right->update(second.preds, second.target, at::ones({21, 2}).to(device()));
    left->merge(*right);
    expect_near(left->compute(), expected, 1e-12);
    test::onRanks(3, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
      const auto own = metric.make(a);
      if (group->getRank() != 1) {
        const Batch &part = group->getRank() == 0 ? first : second;
        own->update(part.preds, part.target);
      }
      own->sync(group);
      expect_near(own->compute(), expected, 1e-12);
    });
  }
}

// The CPU goes through rows of many classes in blocks.
TEST_P(SampleLosses, TakeManyClasses) {
  const at::Tensor logits = at::randn({300, 700}), target = at::randint(0, 700, {300}, at::kLong);
  const auto options = MulticlassLogLossOptions(700).from_logits(true).dtype(at::kDouble);
  const double expected =
      values(-logits.to(at::kDouble).log_softmax(1).gather(1, target.unsqueeze(1)).mean())[0];
  EXPECT_NEAR(values(multiclass_log_loss(logits.to(device()), target.to(device()), options))[0],
              expected, 1e-6);
}

TEST_P(SampleLosses, AreDefinedAtTheEdges) {
  const double eps = std::numeric_limits<float>::epsilon();
  // Limited as in scikit-learn; of half as of float32.
  const at::Tensor sure = scores({1, 0}), wrong = labels({0, 1});
  EXPECT_NEAR(values(binary_log_loss(sure, wrong, BinaryLogLossOptions()))[0], -std::log(eps),
              1e-5);
  EXPECT_NEAR(values(binary_log_loss(sure.to(at::kHalf), wrong, BinaryLogLossOptions()))[0],
              -std::log(eps), 1e-5);
  EXPECT_NEAR(values(binary_log_loss(sure.to(at::kDouble), wrong, BinaryLogLossOptions()))[0],
              -std::log(std::numeric_limits<double>::epsilon()), 1e-5);
  // Logits are not.
  const auto logits = BinaryLogLossOptions().from_logits(true);
  EXPECT_EQ(values(binary_log_loss(scores({1000}), labels({0}), logits))[0], 1000);
  EXPECT_EQ(values(binary_log_loss(scores({1000}), labels({1}), logits))[0], 0);
  EXPECT_EQ(values(multiclass_log_loss(scores({0, 200}).view({1, 2}), labels({0}),
                                       MulticlassLogLossOptions(2).from_logits(true)))[0],
            200);
  EXPECT_TRUE(
      std::isnan(values(binary_brier_score(scores({}), labels({}), BinaryBrierScoreOptions()))[0]));
  EXPECT_TRUE(std::isnan(values(
      binary_brier_score(scores({0.5}), labels({1}), BinaryBrierScoreOptions(), scores({0})))[0]));
}

TEST_P(SampleLosses, NoticeWhatIsOutOfRange) {
  for (const LossCase &metric : cases()) {
    SCOPED_TRACE(metric.title);
    LossArguments a;
    a.validate = Validate::kEager;
    a.ignore_index = 7;
    const auto eager = metric.make(a);
    const Batch good = scored_batch(metric, 4, a).on(device());
    eager->update(good.preds, good.target);
    const Vector before = values(eager->compute());
    at::Tensor preds = good.preds.clone(), target = good.target.clone();
    target.fill_(0);
    target.select(1, 0).select(0, 0).fill_(-1);
    target.select(1, 1).select(0, 0).fill_(7);
    preds.narrow(0, 1, 1).fill_(NAN);
    EXPECT_ERROR(eager->update(preds, target), eager->name(), "3 of 8 samples have",
                 metric.decisions ? "NaN" : "no probability");
    if (!metric.decisions) {
      preds.fill_(1.5);
      EXPECT_ERROR(eager->update(preds, target), "7 of 8");
    }
    EXPECT_EQ(values(eager->compute()), before);

    a.validate = Validate::kDeferred;
    const auto deferred = metric.make(a);
    deferred->update(preds.copy_(good.preds).narrow(0, 1, 3).fill_(NAN), target.narrow(0, 1, 3));
    EXPECT_ERROR(deferred->check_valid(), deferred->name(), "6 samples had", "left out");
    if (device().is_cpu())
      EXPECT_ERROR(deferred->compute(), "6 samples");
    else
      EXPECT_TRUE(std::isnan(values(deferred->compute())[0]));
  }
}

TEST_P(SampleLosses, RefuseWrongInputsAndKeepTheirStates) {
  for (const LossCase &metric : cases()) {
    SCOPED_TRACE(metric.title);
    const auto any = metric.make({});
    const std::string name = any->name();
    const Batch good = scored_batch(metric, 3, {}).on(device());
    any->update(good.preds, good.target);
    const Vector before = values(any->compute());
    EXPECT_ERROR(any->update(good.preds, good.target.narrow(0, 0, 2)), name, "[3", "[2");
    EXPECT_ERROR(any->update(good.target, good.target), name, "preds", "Long");
    EXPECT_ERROR(any->update(good.preds, good.preds), name, "target");
    EXPECT_ERROR(any->update(good.preds, good.target, scores({1, 2, 3})), name, "weight", "[3]",
                 "[3, 2]");
    EXPECT_ERROR(any->update(good.preds, good.target, good.target.gt(0)), name, "weight", "Bool");
    EXPECT_ERROR(any->update(good.preds, good.target, at::ones({3, 2}, at::kMeta)), name, "weight",
                 "meta");
    EXPECT_EQ(values(any->compute()), before);
  }
  EXPECT_ERROR(MulticlassLogLoss(1), "MulticlassLogLoss", "num_classes is 1");
  BinaryBrierScore half, whole(BinaryBrierScoreOptions().scale_by_half(false));
  EXPECT_ERROR(half.merge(whole), "scale_by_half");
}

TEST_P(SampleLosses, UpdateOnMetaTensors) {
  for (const LossCase &metric : cases())
    for (const bool from_logits : {false, true}) {
      LossArguments a;
      a.from_logits = from_logits;
      a.ignore_index = -1;
      a.validate = Validate::kEager;
      const auto any = metric.make(a);
      const Batch batch = scored_batch(metric, 5, a);
      for (int step = 0; step < 2; ++step)
        any->update(batch.preds.to(at::kMeta), batch.target.to(at::kMeta),
                    step ? at::ones({5, 2}, at::kMeta) : at::Tensor());
      EXPECT_TRUE(any->compute().is_meta());
    }
}

TEST_P(SampleLosses, PerplexityIsOfLogitsByToken) {
  const at::Tensor logits = at::randn({3, 7, 11}) * 3;
  at::Tensor target = at::randint(0, 11, {3, 7}, at::kLong);
  target.select(1, 6).fill_(-100);
  const Vector x = values(logits);
  const auto y = values<int64_t>(target);
  double sum = 0, count = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    if (y[i] == -100)
      continue;
    double exponentials = 0;
    for (size_t c = 0; c < 11; ++c)
      exponentials += std::exp(x[i * 11 + c]);
    sum -= std::log(std::exp(x[i * 11 + y[i]]) / exponentials);
    count += 1;
  }
  const double expected = std::exp(sum / count);
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    Perplexity metric(PerplexityOptions(-100).dtype(at::kDouble));
    for (int64_t i = 0; i < 3; ++i)
      metric.update(logits.narrow(0, i, 1).to(device(), dtype),
                    target.narrow(0, i, 1).to(device()));
    EXPECT_NEAR(values(metric.compute())[0], expected, 1e-6 * expected);
  }
  EXPECT_NEAR(
      values(perplexity(logits.to(device()), target.to(device()), PerplexityOptions(-100)))[0],
      expected, 1e-5 * expected);

  Perplexity metric(PerplexityOptions().validate(Validate::kEager));
  EXPECT_ERROR(metric.update(logits.to(device()), target.to(device())), "Perplexity", "3 of 21",
               "none of the scores' classes");
  EXPECT_ERROR(metric.update(logits.to(device()).select(0, 0), target.to(device()).select(0, 0)),
               "Perplexity", "[7, 11]", "[N, T, C]");
  EXPECT_ERROR(metric.update(logits.to(device()), logits.to(device())), "target", "Float");
  EXPECT_FALSE(metric.device());
  Perplexity on_meta;
  on_meta.update(at::empty({2, 3, 5}, at::kMeta), at::empty({2, 3}, at::kMeta).to(at::kLong));
  EXPECT_TRUE(on_meta.compute().is_meta());
}

class SampleLossesNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(SampleLossesNoSync);

TEST_P(SampleLossesNoSync, NeverWaitForTheDevice) {
  for (const LossCase &metric : cases())
    for (const bool from_logits : {false, true}) {
      LossArguments a;
      a.dtype = at::kFloat;
      a.from_logits = from_logits;
      a.ignore_index = -1;
      Batch batch;
      at::Tensor weight;
      {
        const test::HostAccessScope host_access;
        batch = scored_batch(metric, 8, a).on(device());
        weight = at::rand({8, 2}).to(device());
      }
      const devsan::ExpectNoSync no_sync;
      const auto any = metric.make(a), other = metric.make(a);
      any->update(batch.preds, batch.target);
      any->update(batch.preds, batch.target, weight);
      other->update(batch.preds, batch.target);
      any->merge(*other);
      EXPECT_EQ(any->compute().device(), device());
    }
}

} // namespace
} // namespace devsan::metrics
