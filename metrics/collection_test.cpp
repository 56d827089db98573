#include "metrics/collection.h"

#include <cmath>
#include <random>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/confusion_matrix.h"
#include "metrics/classification/exact_match.h"
#include "metrics/classification/f_beta.h"
#include "metrics/classification/precision.h"
#include "metrics/classification/recall.h"
#include "metrics/classification/roc.h"
#include "metrics/regression/concordance_corr_coef.h"
#include "metrics/regression/explained_variance.h"
#include "metrics/regression/kendall_rank_corr_coef.h"
#include "metrics/regression/kl_divergence.h"
#include "metrics/regression/mean_absolute_error.h"
#include "metrics/regression/mean_squared_error.h"
#include "metrics/regression/pearson_corr_coef.h"
#include "metrics/regression/r2_score.h"
#include "metrics/regression/spearman_corr_coef.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
using Groups = std::vector<std::vector<std::string>>;
using Named = std::vector<NamedMetric>;

constexpr int64_t kClasses = 6;

Named classification() {
  return {
      {"accuracy", MulticlassAccuracy(kClasses)},
      {"matrix", MulticlassConfusionMatrix(kClasses)},
      {"precision", MulticlassPrecision(kClasses)},
      {"micro", MulticlassAccuracy(MulticlassAccuracyOptions(kClasses).average(Average::kMicro))},
      {"recall", MulticlassRecall(MulticlassRecallOptions(kClasses).average(Average::kNone))},
      {"f1", MulticlassF1Score(MulticlassF1ScoreOptions(kClasses).zero_division(1))}};
}

Named regression() {
  return {{"pearson", PearsonCorrCoef(PearsonCorrCoefOptions().dtype(at::kDouble))},
          {"spearman", SpearmanCorrCoef()},
          {"mse", MeanSquaredError()},
          {"ccc", ConcordanceCorrCoef(ConcordanceCorrCoefOptions().dtype(at::kDouble))},
          {"kendall", KendallRankCorrCoef()},
          {"rmse", MeanSquaredError(MeanSquaredErrorOptions().squared(false))},
          {"mae", MeanAbsoluteError()},
          {"r2", R2Score()},
          {"explained", ExplainedVariance()}};
}

struct Batch {
  at::Tensor preds, target;
};

class CollectionTest : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(5); }
  at::TensorOptions labels() const { return at::TensorOptions().dtype(at::kLong).device(device()); }
  Batch scores(int64_t n) const {
    return {at::randn({n, kClasses}, device()), at::randint(0, kClasses, {n}, labels())};
  }
  Batch numbers(int64_t n) const {
    const at::Tensor target = at::randn({n}, device());
    return {target + 0.3 * at::randn({n}, device()), target};
  }
  template <class Maker> Batch batch(const Maker &named, int64_t n) const {
    return named == classification ? scores(n) : numbers(n);
  }
};
DEVSAN_DEVICE_SUITE(CollectionTest);

// The metrics of a collection each for itself.
struct Alone {
  explicit Alone(const Named &named) {
    for (const NamedMetric &each : named)
      metrics.emplace_back(each.name(), detail::cloned(each.metric()));
  }
  void update(const Batch &batch) {
    for (auto &[name, metric] : metrics)
      metric->update(batch.preds, batch.target);
  }
  void expect_equal(const MetricCollection &collection, double tolerance = 0) const {
    const auto results = collection.compute();
    ASSERT_EQ(results.size(), metrics.size());
    for (size_t i = 0; i < metrics.size(); ++i) {
      const auto &[name, metric] = metrics[i];
      EXPECT_EQ(results.items()[i].key(), name);
      const std::vector<double> expected = values(metric->compute());
      const std::vector<double> found = values(results[name]);
      ASSERT_EQ(found.size(), expected.size()) << name;
      for (size_t j = 0; j < expected.size(); ++j)
        EXPECT_NEAR(found[j], expected[j], tolerance) << name;
    }
  }
  std::vector<std::pair<std::string, std::unique_ptr<SupervisedMetric>>> metrics;
};

TEST(Collection, SharesStatesByClassAndOptionsAlone) {
  EXPECT_EQ(MetricCollection(classification()).compute_groups(),
            (Groups{{"accuracy", "precision", "recall", "f1"}, {"matrix"}, {"micro"}}));
  EXPECT_EQ(MetricCollection(regression()).compute_groups(), (Groups{{"pearson", "ccc"},
                                                                     {"spearman", "kendall"},
                                                                     {"mse", "rmse"},
                                                                     {"mae"},
                                                                     {"r2", "explained"}}));
  EXPECT_EQ(MetricCollection(classification(), MetricCollectionOptions().compute_groups(false))
                .compute_groups()
                .size(),
            6);
  EXPECT_EQ(MetricCollection({BinaryAUROC(BinaryAUROCOptions(11)), BinaryROC(BinaryROCOptions(11))})
                .compute_groups(),
            (Groups{{"BinaryAUROC", "BinaryROC"}}));
}

// Each option that update() reads tells states apart, however little it differs.
TEST(Collection, SharesNoStatesThatCouldDiffer) {
  const auto separate = [](const auto &a, const auto &b) {
    return MetricCollection({{"a", a}, {"b", b}}).compute_groups().size() == 2;
  };
  const auto options = [] { return BinaryAccuracyOptions(); };
  const BinaryAccuracy plain;
  EXPECT_FALSE(separate(plain, BinaryF1Score()));
  EXPECT_TRUE(separate(plain, BinaryAccuracy(options().threshold(0.5 + 1e-15))));
  EXPECT_TRUE(separate(plain, BinaryAccuracy(options().from_logits(true))));
  EXPECT_TRUE(separate(plain, BinaryAccuracy(options().ignore_index(-1))));
  EXPECT_TRUE(separate(plain, BinaryAccuracy(options().validate(Validate::kDeferred))));
  EXPECT_TRUE(separate(MulticlassAccuracy(3), MulticlassPrecision(4)));
  EXPECT_TRUE(
      separate(MulticlassAccuracy(3), MulticlassAccuracy(MulticlassAccuracyOptions(3).top_k(2))));
  EXPECT_TRUE(separate(MulticlassAccuracy(3), MultilabelAccuracy(3)));
  EXPECT_TRUE(separate(BinaryAUROC(BinaryAUROCOptions({0, 0.5, 1})),
                       BinaryAUROC(BinaryAUROCOptions({0, 0.50000006, 1}))));
  EXPECT_TRUE(separate(PearsonCorrCoef(), R2Score()));
  EXPECT_TRUE(
      separate(PearsonCorrCoef(), PearsonCorrCoef(PearsonCorrCoefOptions().dtype(at::kDouble))));
  EXPECT_TRUE(separate(PearsonCorrCoef(), PearsonCorrCoef(PearsonCorrCoefOptions().accumulation(
                                              Accumulation::kFloatPair))));
  EXPECT_TRUE(separate(MeanSquaredError(), MeanAbsoluteError()));
  BinaryAccuracy moved, also_moved, moving;
  moved.to(at::kMeta);
  also_moved.to(at::kMeta);
  moving.device_policy(DevicePolicy::kMove);
  EXPECT_FALSE(separate(moved, also_moved));
  EXPECT_TRUE(separate(plain, moved));
  EXPECT_TRUE(separate(plain, moving));
}

TEST_P(CollectionTest, IsItsMetricsUpdatedAlone) {
  for (const auto &named : {classification, regression}) {
    MetricCollection collection(named());
    Alone alone(named());
    for (const int64_t n : {20, 1, 0, 33}) {
      const Batch each = batch(named, n);
      collection.update(each.preds, each.target);
      alone.update(each);
    }
    alone.expect_equal(collection);
    EXPECT_EQ(collection.device(), device());
  }
}

TEST_P(CollectionTest, KeepsSharedStatesOnce) {
  MetricCollection collection(classification());
  const Batch each = scores(30);
  collection.update(each.preds, each.target);
  EXPECT_TRUE(collection["f1"].states()[0].is_same(collection["accuracy"].states()[0]));
  EXPECT_FALSE(collection["matrix"].states()[0].is_same(collection["accuracy"].states()[0]));
  EXPECT_EQ(values<int64_t>(collection["f1"].states()[0][1].sum())[0], 30); // targets
}

// Only what may fail after others have changed has to be kept.
TEST_P(CollectionTest, ChangesItsLargestStateInPlace) {
  if (!device().is_cpu())
    GTEST_SKIP() << "states on devices are replaced; remove where they no longer are";
  MetricCollection collection(classification());
  const Batch each = scores(30);
  collection.update(each.preds, each.target);
  const void *before = collection["matrix"].states()[0].const_data_ptr();
  collection.update(each.preds, each.target);
  EXPECT_EQ(collection["matrix"].states()[0].const_data_ptr(), before);
}

TEST_P(CollectionTest, IsAsItWasWhereAMetricThrows) {
  MetricCollection collection({{"spearman", SpearmanCorrCoef()},
                               {"mse", MeanSquaredError()},
                               {"kendall", KendallRankCorrCoef()},
                               {"two", PearsonCorrCoef(PearsonCorrCoefOptions(2))}});
  Alone alone({{"spearman", SpearmanCorrCoef()},
               {"mse", MeanSquaredError()},
               {"kendall", KendallRankCorrCoef()}});
  const Batch one = numbers(9);
  EXPECT_ERROR(collection.update(one.preds, one.target), "PearsonCorrCoef", "num_outputs is 2");
  EXPECT_TRUE(collection.state_dict().is_empty());
  EXPECT_FALSE(collection.device());

  // Metrics that take both, the last of which looks at the values.
  const auto named = [] {
    return Named{
        {"exact", MulticlassExactMatch(kClasses)},
        {"matrix", MulticlassConfusionMatrix(kClasses)},
        {"accuracy", MulticlassAccuracy(kClasses)},
        {"strict", MulticlassConfusionMatrix(
                       MulticlassConfusionMatrixOptions(kClasses).validate(Validate::kEager))}};
  };
  MetricCollection counts(named());
  Alone counted(named());
  const Batch good = scores(12), bad = scores(12);
  bad.target[3] = kClasses;
  counts.update(good.preds, good.target);
  counted.update(good);
  EXPECT_ERROR(counts.update(bad.preds, bad.target), "1 of 12 samples");
  counted.expect_equal(counts);
  counts.update(good.preds, good.target);
  counted.update(good);
  counted.expect_equal(counts);
}

TEST_P(CollectionTest, ForgetsListsOfAFailedUpdate) {
  const auto named = [] {
    return Named{{"spearman", SpearmanCorrCoef(SpearmanCorrCoefOptions(2))},
                 {"kl", KLDivergence(KLDivergenceOptions().validate(Validate::kEager))},
                 {"pearson", PearsonCorrCoef(PearsonCorrCoefOptions(2))}};
  };
  MetricCollection collection(named());
  Alone alone(named());
  const auto positive = [&] { return at::rand({9, 2}, device()) + 0.1; };
  for (int step = 0; step < 3; ++step) {
    const Batch good{positive(), positive()};
    collection.update(good.preds, good.target);
    alone.update(good);
    if (step == 1)
      alone.expect_equal(collection); // which concatenates
    EXPECT_ERROR(collection.update(good.preds, good.target - 2), "KLDivergence", "9 of 9 samples");
  }
  EXPECT_EQ(collection["spearman"].states()[0].size(0), 27);
  alone.expect_equal(collection);
}

TEST_P(CollectionTest, ResetsMovesAndClones) {
  MetricCollection collection(regression());
  const Batch first = numbers(8), second = numbers(9);
  collection.update(first.preds, first.target);
  const MetricCollection kept = collection.clone("kept_", "_1");
  EXPECT_EQ(kept.compute_groups(), collection.compute_groups());
  Alone alone(regression());
  alone.update(first);
  EXPECT_EQ(values(kept.compute()["kept_mse_1"]), values(collection.compute()["mse"]));

  collection.reset();
  EXPECT_FALSE(collection.device());
  EXPECT_ERROR(collection.compute(), "before the first update");
  collection.update(second.preds, second.target);
  Alone fresh(regression());
  fresh.update(second);
  fresh.expect_equal(collection);
  MetricCollection first_again = kept.clone("");
  alone.expect_equal(first_again);

  first_again.to(at::kCPU);
  for (const auto &state : first_again.state_dict())
    EXPECT_TRUE(state.value().is_cpu());
  first_again.to(device());
  first_again.update(second.preds, second.target);
  alone.update(second);
  alone.expect_equal(first_again, 1e-12);
}

TEST_P(CollectionTest, Merges) {
  for (const auto &named : {classification, regression}) {
    MetricCollection a(named()), b(named()),
        apart(named(), MetricCollectionOptions().compute_groups(false));
    Alone alone(named());
    const Batch first = batch(named, 11), second = batch(named, 12), third = batch(named, 13);
    a.update(first.preds, first.target);
    b.update(second.preds, second.target);
    apart.update(third.preds, third.target);
    a.merge(b);
    a.merge(apart); // shares nothing, and is merged all the same
    alone.update(first);
    alone.update(second);
    alone.update(third);
    alone.expect_equal(a, 1e-6);
    apart.merge(b);
    EXPECT_EQ(values<int64_t>(apart[apart.keys().back()].states()[0]).size(),
              values<int64_t>(a[a.keys().back()].states()[0]).size());
  }
  MetricCollection a(classification()), b(regression());
  EXPECT_ERROR(a.merge(b), "cannot merge MetricCollection(", "pearson: PearsonCorrCoef(");
}

TEST_P(CollectionTest, SavesTheSameNamesSharedOrNot) {
  MetricCollection collection(regression()),
      apart(regression(), MetricCollectionOptions().compute_groups(false));
  const Batch first = numbers(8), second = numbers(9);
  collection.update(first.preds, first.target);
  apart.update(first.preds, first.target);
  EXPECT_EQ(collection.state_dict().keys(), apart.state_dict().keys());
  EXPECT_TRUE(collection.state_dict().contains("rmse.sum_squared_error"));

  MetricCollection restored(regression()),
      restored_apart(regression(), MetricCollectionOptions().compute_groups(false));
  restored.load_state_dict(apart.state_dict());
  restored_apart.load_state_dict(collection.state_dict());
  Alone alone(regression());
  alone.update(first);
  alone.expect_equal(restored);
  alone.expect_equal(restored_apart);
  alone.update(second);
  restored.update(second.preds, second.target);
  alone.expect_equal(restored);

  // NaN is no difference.
  MetricCollection undefined(regression()), undefined_again(regression());
  undefined.update(first.preds.log(), first.target);
  undefined_again.load_state_dict(undefined.state_dict());
  EXPECT_TRUE(std::isnan(values(undefined_again.compute()["rmse"])[0]));

  // What is one here cannot be two.
  auto states = collection.state_dict();
  states["rmse.sum_squared_error"] = states["rmse.sum_squared_error"] + 1;
  EXPECT_ERROR(restored.load_state_dict(states), "`mse.` and `rmse.` differ", "compute_groups");
  alone.expect_equal(restored);
  restored_apart.load_state_dict(states);
  EXPECT_NE(values(restored_apart.compute()["rmse"]), values(restored.compute()["rmse"]));
}

TEST_P(CollectionTest, RefusesStatesOfOthers) {
  MetricCollection collection({{"mse", MeanSquaredError()}});
  MetricCollection other({{"mse", MeanSquaredError()}, {"mae", MeanAbsoluteError()}});
  const Batch each = numbers(8);
  other.update(each.preds, each.target);
  EXPECT_ERROR(collection.load_state_dict(other.state_dict()), "MetricCollection", "6 states");
  auto states = other.state_dict();
  states.erase("mae.total");
  EXPECT_ERROR(other.load_state_dict(states), "no state `mae.total`");
  states.erase("mae.sum_abs_error");
  states.erase("mae.weight");
  other.load_state_dict(states); // a metric that has seen nothing
  EXPECT_ERROR(other.compute(), "MeanAbsoluteError", "before the first update");
}

TEST_P(CollectionTest, NamesResults) {
  MetricCollection collection({MulticlassAccuracy(3), MulticlassPrecision(3)},
                              MetricCollectionOptions().prefix("val_").postfix("/1"));
  const at::Tensor label = at::zeros({4}, labels());
  collection.update(label, label);
  EXPECT_EQ(collection.compute().keys(),
            (std::vector<std::string>{"val_MulticlassAccuracy/1", "val_MulticlassPrecision/1"}));
  EXPECT_EQ(collection.keys(),
            (std::vector<std::string>{"MulticlassAccuracy", "MulticlassPrecision"}));
  EXPECT_EQ(collection.get<MulticlassPrecision>("MulticlassPrecision").name(),
            "MulticlassPrecision");
  EXPECT_ERROR(collection.get<MulticlassRecall>("MulticlassPrecision"), "not the class");
  EXPECT_ERROR(collection["recall"], "no metric `recall`", "MulticlassAccuracy");
  EXPECT_ERROR(MetricCollection({MulticlassAccuracy(3), MulticlassAccuracy(4)}),
               "two metrics `MulticlassAccuracy`");
  EXPECT_ERROR(MetricCollection({{"a.b", MulticlassAccuracy(3)}}), "`a.b`", "dots");
  MulticlassAccuracy used(3);
  used.update(label, label);
  EXPECT_ERROR(MetricCollection({{"used", used}}), "`used` has seen batches", "reset()");
}

TEST_P(CollectionTest, TakesHalfPrecisionAndMeta) {
  MetricCollection collection(regression()), exact(regression());
  for (int step = 0; step < 2; ++step) {
    const Batch each = numbers(16);
    const at::Tensor preds = each.preds.to(at::kHalf), target = each.target.to(at::kHalf);
    collection.update(preds, target);
    exact.update(preds.to(at::kDouble), target.to(at::kDouble));
  }
  const auto results = collection.compute(), expected = exact.compute();
  for (const auto &result : results)
    EXPECT_NEAR(values(result.value())[0], values(expected[result.key()])[0], 1e-6) << result.key();
  MetricCollection meta(regression());
  meta.update(at::empty({4}, at::kMeta), at::empty({4}, at::kMeta));
  meta.update(at::empty({4}, at::kMeta), at::empty({4}, at::kMeta));
  EXPECT_EQ(meta.device(), at::kMeta);
}

// Counts the collectives of a rank.
class CountingBackend : public test::StoreBackend {
public:
  using StoreBackend::StoreBackend;
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor &output, at::Tensor &input,
                                                 const c10d::AllgatherOptions &options) override {
    ++count;
    return StoreBackend::_allgather_base(output, input, options);
  }
  int count = 0;
};

// Runs `rank` on two threads, each with a back end that counts.
template <typename Rank> void on_two_ranks(Rank rank) {
  constexpr int kRanks = 2;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto run = [&](int number) {
    const test::HostAccessScope host_access;
    const auto backend = c10::make_intrusive<CountingBackend>(store, number, kRanks);
    const auto group = c10::make_intrusive<c10d::ProcessGroup>(store, number, kRanks);
    for (const auto type : {at::kCPU, at::kCUDA})
      group->setBackend(type, c10d::ProcessGroup::CUSTOM,
                        c10::intrusive_ptr<c10d::Backend>(backend));
    group->setDefaultBackend(c10d::ProcessGroup::CUSTOM);
    rank(number, group, backend->count);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
}

TEST_P(CollectionTest, SyncsInOneExchange) {
  on_two_ranks([this](int rank, const c10::intrusive_ptr<c10d::ProcessGroup> &group,
                      const int &collectives) {
    MetricCollection collection(regression());
    const at::Tensor numbers = at::arange(5 + rank, at::TensorOptions().device(device())) * 1.f;
    collection.update(numbers, numbers + 1);
    collection.sync(group);
    EXPECT_EQ(collectives, 2); // the header and the states
    EXPECT_EQ(values<int64_t>(collection["pearson"].states()[0])[0], 11);
    EXPECT_EQ(collection["spearman"].states()[0].size(0), 11);
    collection.unsync();
    EXPECT_EQ(collection["spearman"].states()[0].size(0), 5 + rank);
  });
}

TEST_P(CollectionTest, SendsSmallStatesOfTheHostWithTheHeader) {
  on_two_ranks([this](int rank, const c10::intrusive_ptr<c10d::ProcessGroup> &group,
                      const int &collectives) {
    const auto options = at::TensorOptions().device(device());
    const at::Tensor numbers = at::arange(5 + rank, options) * 1.f;
    PearsonCorrCoef metric;
    metric.update(numbers, numbers * 2 + 1);
    metric.sync(group);
    EXPECT_EQ(collectives, device().is_cpu() ? 1 : 2);
    EXPECT_EQ(values<int64_t>(metric.states()[0])[0], 11);
    EXPECT_NEAR(values(metric.compute())[0], 1, 1e-6);

    // A rank that has seen nothing takes the others' device for the host's.
    PearsonCorrCoef idle;
    if (rank == 0)
      idle.update(numbers, numbers * 2 + 1);
    idle.sync(group);
    EXPECT_EQ(collectives, device().is_cpu() ? 2 : 4);
    EXPECT_EQ(values<int64_t>(idle.states()[0])[0], 5);
    EXPECT_EQ(idle.states()[0].device().type(), device().type());

    // Of 15 x 15 numbers and a count: within 2 KiB; of 16 x 16 and a count: more.
    const int before = collectives;
    for (const int64_t classes : {15, 16}) {
      MulticlassConfusionMatrix matrix{MulticlassConfusionMatrixOptions(classes)};
      matrix.update(at::full({3}, classes - 1, options.dtype(at::kLong)),
                    at::full({3}, rank, options.dtype(at::kLong)));
      matrix.sync(group);
      EXPECT_EQ(values<int64_t>(matrix.compute())[classes - 1], 3);
      EXPECT_EQ(values<int64_t>(matrix.compute())[2 * classes - 1], 3);
    }
    EXPECT_EQ(collectives - before, device().is_cpu() ? 3 : 4);
  });
}

TEST_P(CollectionTest, SyncsUnevenAndEmptyRanks) {
  for (const auto &named : {classification, regression})
    for (const std::vector<int64_t> &lengths :
         {std::vector<int64_t>{7}, {30, 7}, {0, 12}, {5, 0, 40}, {3, 1, 4, 15}}) {
      const auto ranks = static_cast<int>(lengths.size());
      std::vector<Batch> batches;
      Alone alone(named());
      for (const int64_t n : lengths) {
        batches.push_back(batch(named, n));
        if (n > 0)
          alone.update(batches.back());
      }
      // Who looks at lists first concatenates them, which is not for several threads.
      for (const auto &[name, metric] : alone.metrics)
        metric->compute();
      test::onRanks(ranks, [&](const Group &group) {
        const int rank = group->getRank();
        MetricCollection collection(named());
        if (lengths[rank] > 0) // an idle rank knows no device
          collection.update(batches[rank].preds, batches[rank].target);
        collection.sync(group);
        alone.expect_equal(collection, 1e-6);
        EXPECT_ERROR(collection.update(batches[0].preds, batches[0].target), "unsync()");
        EXPECT_ERROR(collection.merge(collection), "unsync()");
        collection.unsync();
        EXPECT_EQ(collection.state_dict().is_empty(), lengths[rank] == 0);
        collection.update(batches[0].preds, batches[0].target);
      });
    }
}

TEST_P(CollectionTest, SyncsAnyNumberOfLists) {
  test::onRanks(2, [&](const Group &group) {
    const int rank = group->getRank();
    MetricCollection collection(
        {{"a", SpearmanCorrCoef()}, {"b", KendallRankCorrCoef()}, {"c", SpearmanCorrCoef()}},
        MetricCollectionOptions().compute_groups(false));
    const at::Tensor numbers = at::arange(4 + rank, at::TensorOptions().device(device()));
    collection.update(rank == 0 ? numbers.to(at::kFloat) : numbers.to(at::kDouble),
                      numbers.to(at::kFloat));
    collection.sync(group);
    EXPECT_EQ(collection["c"].states()[0].size(0), 9);
    EXPECT_EQ(collection["c"].states()[0].scalar_type(), at::kDouble);
  });
}

TEST_P(CollectionTest, SyncOfDifferentRanksIsAnErrorOnEach) {
  const Batch each = scores(4);
  const auto fails = [&](const Named &a, const Named &b) {
    test::onRanks(2, [&](const Group &group) {
      MetricCollection collection(group->getRank() == 0 ? a : b);
      collection.update(each.preds, each.target);
      EXPECT_ERROR(collection.sync(group), "MetricCollection",
                   "syncs another metric or other options");
      collection.update(each.preds, each.target);
    });
  };
  const MulticlassAccuracy accuracy(kClasses);
  const MulticlassConfusionMatrix matrix(kClasses);
  fails({{"a", accuracy}, {"b", matrix}}, {{"b", matrix}, {"a", accuracy}});
  fails({{"a", accuracy}}, {{"a", accuracy}, {"b", matrix}});
  fails({{"a", accuracy}},
        {{"a", MulticlassAccuracy(MulticlassAccuracyOptions(kClasses).ignore_index(0))}});
  // One shares its states, the other does not.
  test::onRanks(2, [&](const Group &group) {
    MetricCollection collection(classification(),
                                MetricCollectionOptions().compute_groups(group->getRank() == 0));
    collection.update(each.preds, each.target);
    EXPECT_ERROR(collection.sync(group), "other options");
  });
  // A metric alone and one in a collection.
  test::onRanks(2, [&](const Group &group) {
    MulticlassAccuracy alone(kClasses);
    MetricCollection collection({{"a", accuracy}});
    alone.update(each.preds, each.target);
    collection.update(each.preds, each.target);
    if (group->getRank() == 0)
      EXPECT_ERROR(alone.sync(group), "MulticlassAccuracy: rank 1");
    else
      EXPECT_ERROR(collection.sync(group), "MetricCollection: rank 0");
  });
}

// A rank whose states are damaged says so, and the others do not wait for it.
TEST_P(CollectionTest, ARankThatCannotTakePartIsAnErrorOnEach) {
  test::onRanks(3, [&](const Group &group) {
    MetricCollection collection({{"mse", MeanSquaredError()}, {"spearman", SpearmanCorrCoef()}});
    const at::Tensor preds = at::rand({5}, device()), target = at::rand({5}, device());
    collection.update(preds, target);
    if (group->getRank() == 1) {
      preds.add_(1);
      EXPECT_ERROR(collection.sync(group), "SpearmanCorrCoef", "was written to after update()");
    } else {
      EXPECT_ERROR(collection.sync(group), "rank 1 could not take part");
    }
  });
}

TEST_P(CollectionTest, EachThreadHasItsOwn) {
  constexpr int kThreads = 3;
  MetricCollection whole(classification());
  std::vector<std::vector<Batch>> batches(kThreads);
  for (auto &of_thread : batches)
    for (int i = 0; i < 10; ++i) {
      of_thread.push_back(scores(16));
      whole.update(of_thread.back().preds, of_thread.back().target);
    }
  std::vector<MetricCollection> collections(kThreads, MetricCollection(classification()));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      const test::HostAccessScope host_access;
      for (const Batch &each : batches[i])
        collections[i].update(each.preds, each.target);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 1; i < kThreads; ++i)
    collections[0].merge(collections[i]);
  for (const auto &result : whole.compute())
    EXPECT_EQ(values(collections[0].compute()[result.key()]), values(result.value()));
}

// Random sequences of all that can be done with states, on two ranks that now and then come
// together, against the metrics each for itself.
TEST_P(CollectionTest, AnySequenceIsThatOfTheMetricsAlone) {
  for (const auto &named : {classification, regression}) {
    std::vector<Batch> seen[2];
    const auto expect_seen = [&](const MetricCollection &collection, int first, int last) {
      Alone alone(named());
      for (int rank = first; rank <= last; ++rank)
        for (const Batch &each : seen[rank])
          alone.update(each);
      alone.expect_equal(collection, 2e-6);
    };
    test::onRanks(2, [&](const Group &group) {
      const int rank = group->getRank();
      std::mt19937 random(rank);
      MetricCollection collection(named());
      for (int step = 0; step < 60; ++step) {
        const Batch each = batch(named, 3 + random() % 20);
        switch (random() % 6) {
        case 0:
        case 1:
          collection.update(each.preds, each.target);
          seen[rank].push_back(each);
          break;
        case 2: {
          MetricCollection other(named());
          other.update(each.preds, each.target);
          collection.merge(other);
          seen[rank].push_back(each);
          break;
        }
        case 3:
          if (random() % 2) {
            collection.reset();
            seen[rank].clear();
          }
          break;
        case 4: {
          MetricCollection restored(named());
          restored.load_state_dict(collection.state_dict());
          collection.reset();
          collection.merge(restored);
          break;
        }
        case 5: {
          const MetricCollection copy = collection.clone();
          collection.update(each.preds, each.target);
          collection.reset();
          collection.merge(copy);
          break;
        }
        }
        if (!seen[rank].empty())
          expect_seen(collection, rank, rank);
        if (step % 10 < 9)
          continue;
        group->barrier()->wait();
        if (seen[0].empty() && seen[1].empty())
          continue;
        collection.sync(group);
        expect_seen(collection, 0, 1);
        group->barrier()->wait(); // the other one may go on when nobody looks at what it has seen
        collection.unsync();
      }
    });
  }
}

class CollectionNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(CollectionNoSync);

TEST_P(CollectionNoSync, NeverWaitsForTheDevice) {
  at::Tensor scores, target, numbers;
  {
    const test::HostAccessScope host_access;
    scores = at::randn({32, kClasses}).to(device());
    numbers = at::randn({32}).to(device());
    target = at::randint(0, kClasses, {32}, at::kLong).to(device());
  }
  const devsan::ExpectNoSync no_sync;
  MetricCollection counts(classification()), moments(regression());
  for (int step = 0; step < 3; ++step) {
    counts.update(scores, target);
    moments.update(numbers, numbers + 1);
  }
  MetricCollection copy = counts.clone("copy_");
  copy.merge(counts);
  EXPECT_EQ(copy.compute().size(), 6);
  EXPECT_EQ(moments.compute().size(), 9);
  copy.reset();
}

} // namespace
} // namespace devsan::metrics
