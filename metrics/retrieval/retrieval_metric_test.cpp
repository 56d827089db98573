// All metrics of the family against loops over queries and documents.
#include "metrics/retrieval/retrieval_metric.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "metrics/retrieval/average_precision.h"
#include "metrics/retrieval/fall_out.h"
#include "metrics/retrieval/hit_rate.h"
#include "metrics/retrieval/normalized_dcg.h"
#include "metrics/retrieval/precision.h"
#include "metrics/retrieval/r_precision.h"
#include "metrics/retrieval/recall.h"
#include "metrics/retrieval/reciprocal_rank.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Vector = std::vector<double>;
using Action = EmptyTargetAction;

struct RetrievalArguments {
  std::optional<int64_t> top_k = std::nullopt;
  bool adaptive_k = false;
  std::optional<Action> empty_target_action = std::nullopt; // none: the metric's own
  std::optional<int64_t> ignore_index = std::nullopt;
  QueryAggregation aggregation = QueryAggregation::kMean;
  Validate validate = Validate::kAuto;
};

// The documents of a query from the best score down.
struct Query {
  Vector scores, relevance;
  // Documents whose score is no lower than that of document i.
  size_t rank(size_t i) const {
    return std::count_if(scores.begin(), scores.end(), [&](double x) { return x >= scores[i]; });
  }
  // The relevant ones whose rank is within k.
  double found(size_t k) const {
    double sum = 0;
    for (size_t i = 0; i < relevance.size(); ++i)
      sum += rank(i) <= k ? relevance[i] : 0;
    return sum;
  }
  double all() const { return found(relevance.size()); }
};

struct RetrievalCase {
  std::function<std::unique_ptr<RetrievalMetric>(const RetrievalArguments &)> make;
  std::function<double(const Query &, size_t k, const RetrievalArguments &)> value;
  bool graded = false, of_negatives = false;
};

template <class M> std::unique_ptr<RetrievalMetric> make(const RetrievalArguments &a) {
  typename M::Options options;
  options.ignore_index(a.ignore_index).aggregation(a.aggregation).validate(a.validate);
  if (a.empty_target_action)
    options.empty_target_action(*a.empty_target_action);
  if constexpr (requires { options.top_k(a.top_k); })
    options.top_k(a.top_k);
  if constexpr (requires { options.adaptive_k(a.adaptive_k); })
    options.adaptive_k(a.adaptive_k);
  return std::make_unique<M>(options);
}

double ndcg(const Query &query, size_t k, const RetrievalArguments &) {
  const size_t n = query.scores.size();
  const auto discount = [&](size_t i) { return i < k ? 1 / std::log2(i + 2.) : 0; };
  Vector best = query.relevance;
  std::sort(best.rbegin(), best.rend());
  double gain = 0, ideal = 0;
  for (size_t i = 0; i < n; ++i) {
    double sum = 0, number = 0;
    for (size_t j = 0; j < n; ++j)
      if (query.scores[j] == query.scores[i]) {
        sum += query.relevance[j];
        number += 1;
      }
    gain += sum / number * discount(i);
    ideal += best[i] * discount(i);
  }
  return ideal == 0 ? 0 : gain / ideal;
}

std::vector<RetrievalCase> cases() {
  using Arguments = const RetrievalArguments &;
  return {
      {make<RetrievalMRR>,
       [](const Query &query, size_t k, Arguments) {
         for (size_t i = 0; i < query.relevance.size(); ++i)
           if (query.relevance[i] > 0)
             return query.rank(i) <= k ? 1. / query.rank(i) : 0.;
         return 0.;
       }},
      {make<RetrievalNormalizedDCG>, ndcg, true},
      {make<RetrievalMAP>,
       [](const Query &query, size_t k, Arguments) {
         double sum = 0;
         for (size_t i = 0; i < query.relevance.size(); ++i)
           if (query.relevance[i] > 0 && query.rank(i) <= k)
             sum += query.found(query.rank(i)) / query.rank(i);
         return sum == 0 ? 0 : sum / query.found(k);
       }},
      {make<RetrievalHitRate>,
       [](const Query &query, size_t k, Arguments) { return query.found(k) > 0 ? 1. : 0.; }},
      {make<RetrievalPrecision>,
       [](const Query &query, size_t k, Arguments a) {
         const size_t n = query.scores.size();
         return query.found(k) / static_cast<double>(!a.top_k || a.adaptive_k ? std::min(k, n) : k);
       }},
      {make<RetrievalRecall>,
       [](const Query &query, size_t k, Arguments) { return query.found(k) / query.all(); }},
      {make<RetrievalFallOut>,
       [](const Query &query, size_t k, Arguments) {
         // Of equal scores the first rank counts, where no better ones take all k.
         double found = 0;
         for (size_t i = 0; i < query.scores.size(); ++i)
           found += query.relevance[i] == 0 &&
                    std::count_if(query.scores.begin(), query.scores.end(), [&](double x) {
                      return x > query.scores[i];
                    }) < static_cast<int64_t>(k);
         return found / (static_cast<double>(query.scores.size()) - query.all());
       },
       false, true},
      {make<RetrievalRPrecision>,
       [](const Query &query, size_t, Arguments) {
         return query.found(static_cast<size_t>(query.all())) / query.all();
       }},
  };
}

struct Batch {
  at::Tensor preds, target, indexes;
  Batch part(int64_t start, int64_t length, at::Device device) const {
    const auto of = [&](const at::Tensor &x) { return x.narrow(0, start, length).to(device); };
    return {of(preds), of(target), of(indexes)};
  }
};

// Queries of several sizes, some of them without relevant documents or with nothing else, with
// equal scores.
Batch random_batch(int64_t n, const RetrievalCase &metric, const RetrievalArguments &a) {
  Batch batch{at::randint(-8, 9, {n}, at::kFloat) / 8,
              at::randint(0, metric.graded ? 5 : 2, {n}, at::kLong),
              at::randint(-3, n / 5, {n}, at::kLong)};
  batch.target.masked_fill_(batch.indexes.eq(1), 0);
  batch.target.masked_fill_(batch.indexes.eq(2), 1);
  if (a.ignore_index) {
    batch.target.masked_fill_(at::rand({n}).lt(0.2), *a.ignore_index);
    batch.target.masked_fill_(batch.indexes.eq(3), *a.ignore_index);
  }
  return batch;
}

double reference(const RetrievalCase &metric, const Batch &batch, const RetrievalArguments &a) {
  const Vector scores = values(batch.preds), target = values(batch.target);
  const auto indexes = values<int64_t>(batch.indexes);
  std::map<int64_t, std::vector<std::pair<double, double>>> documents;
  for (size_t i = 0; i < scores.size(); ++i)
    if (!a.ignore_index || target[i] != static_cast<double>(*a.ignore_index))
      documents[indexes[i]].emplace_back(scores[i], target[i]);
  const Action action =
      a.empty_target_action.value_or(metric.of_negatives ? Action::kPos : Action::kNeg);
  Vector results;
  for (auto &[index, own] : documents) {
    std::sort(own.begin(), own.end(),
              [](const auto &x, const auto &y) { return x.first > y.first; });
    Query query;
    for (const auto &[score, relevance] : own) {
      query.scores.push_back(score);
      query.relevance.push_back(relevance);
    }
    const double n = static_cast<double>(own.size());
    if ((metric.of_negatives ? n - query.all() : query.all()) == 0) {
      if (action != Action::kSkip)
        results.push_back(action == Action::kPos);
      continue;
    }
    results.push_back(metric.value(query, static_cast<size_t>(a.top_k.value_or(own.size())), a));
  }
  if (results.empty())
    return 0;
  std::sort(results.begin(), results.end());
  switch (a.aggregation) {
  case QueryAggregation::kMean: {
    double sum = 0;
    for (const double x : results)
      sum += x;
    return sum / static_cast<double>(results.size());
  }
  case QueryAggregation::kMedian:
    return results[(results.size() - 1) / 2];
  case QueryAggregation::kMin:
    return results.front();
  case QueryAggregation::kMax:
    return results.back();
  }
  return 0;
}

void update(RetrievalMetric &metric, const Batch &batch) {
  metric.update(batch.preds, batch.target, batch.indexes);
}

class Retrieval : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(6); }
  at::Tensor scores(Vector numbers) const { return at::tensor(numbers, at::kFloat).to(device()); }
  at::Tensor labels(std::vector<int64_t> numbers) const {
    return at::tensor(numbers, at::kLong).to(device());
  }
};
DEVSAN_DEVICE_SUITE(Retrieval);

TEST_P(Retrieval, EqualsTheDefinition) {
  int run = 0;
  for (const RetrievalCase &metric : cases())
    for (const std::optional<int64_t> top_k : {std::optional<int64_t>(), {1}, {3}, {1000}})
      for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {-1}})
        for (const QueryAggregation aggregation :
             {QueryAggregation::kMean, QueryAggregation::kMedian, QueryAggregation::kMin,
              QueryAggregation::kMax}) {
          RetrievalArguments a{top_k, run % 2 == 0, {}, ignore_index, aggregation};
          if (run % 4 != 0)
            a.empty_target_action = std::array{Action::kNeg, Action::kPos, Action::kSkip}[run % 3];
          ++run;
          const Batch all = random_batch(60, metric, a);
          const auto any = metric.make(a), other = metric.make(a);
          update(*any, all.part(0, 20, device()));
          update(*any, all.part(20, 0, device()));
          update(*any, all.part(20, 39, device()));
          update(*other, all.part(59, 1, device()));
          any->merge(*other);
          EXPECT_EQ(any->compute().device(), device());
          EXPECT_EQ(any->compute().scalar_type(), at::kFloat);
          EXPECT_NEAR(values(any->compute())[0], reference(metric, all, a), 1e-6)
              << any->name() << " top_k " << top_k.value_or(0) << " aggregation "
              << static_cast<int>(aggregation) << " run " << run;
        }
}

// Values of torchmetrics 1.9.0.
TEST_P(Retrieval, EqualsTorchMetrics) {
  const at::Tensor preds = scores({0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2}),
                   target = labels({0, 0, 1, 0, 1, 0, 1}), indexes = labels({0, 0, 0, 1, 1, 1, 1});
  const auto value = [&](RetrievalMetric &&metric) {
    metric.update(preds, target, indexes);
    return values(metric.compute())[0];
  };
  EXPECT_NEAR(value(RetrievalMRR()), 0.75, 1e-6);
  EXPECT_NEAR(value(RetrievalMAP()), 0.7917, 1e-4);
  EXPECT_NEAR(value(RetrievalNormalizedDCG()), 0.8467, 1e-4);
  EXPECT_NEAR(value(RetrievalHitRate(RetrievalHitRateOptions().top_k(2))), 1, 1e-6);
  EXPECT_NEAR(value(RetrievalPrecision(RetrievalPrecisionOptions().top_k(2))), 0.5, 1e-6);
  EXPECT_NEAR(value(RetrievalRecall(RetrievalRecallOptions().top_k(2))), 0.75, 1e-6);
  EXPECT_NEAR(value(RetrievalFallOut(RetrievalFallOutOptions().top_k(2))), 0.5, 1e-6);
  EXPECT_NEAR(value(RetrievalRPrecision()), 0.75, 1e-6);
  EXPECT_NEAR(
      values(retrieval_normalized_dcg(scores({.1, .2, .3, 4, 70}), labels({10, 0, 0, 1, 5})))[0],
      0.6957, 1e-4);
}

// Scores that tell nothing are worth nothing, whatever the order of the documents. Average
// precision, and a reciprocal rank of one relevant document, as scikit-learn 1.9's
// average_precision_score and label_ranking_average_precision_score.
TEST_P(Retrieval, EqualScoresShareTheLastRank) {
  const at::Tensor same = scores({0, 0, 0, 0, 0, 0}), first = labels({1, 1, 0, 0, 0, 0});
  const auto value = [&](auto metric, const at::Tensor &target) {
    metric.update(same, target, at::zeros_like(target));
    return values(metric.compute())[0];
  };
  for (const at::Tensor &target : {first, first.flip(0)}) {
    EXPECT_NEAR(value(RetrievalMAP(), target), 1. / 3, 1e-6);
    EXPECT_NEAR(value(RetrievalMRR(), target), 1. / 6, 1e-6);
    EXPECT_NEAR(value(RetrievalNormalizedDCG(), target), 0.675416, 1e-5); // ndcg_score
    EXPECT_NEAR(value(RetrievalPrecision(), target), 1. / 3, 1e-6);
    EXPECT_NEAR(value(RetrievalRecall(), target), 1, 1e-6); // all are found
    EXPECT_NEAR(value(RetrievalRPrecision(), target), 0, 1e-6);
    EXPECT_NEAR(value(RetrievalMRR(RetrievalMRROptions().top_k(2)), target), 0, 1e-6);
    EXPECT_NEAR(value(RetrievalPrecision(RetrievalPrecisionOptions().top_k(2)), target), 0, 1e-6);
    EXPECT_NEAR(value(RetrievalHitRate(RetrievalHitRateOptions().top_k(2)), target), 0, 1e-6);
    EXPECT_NEAR(value(RetrievalFallOut(RetrievalFallOutOptions().top_k(2)), target), 1, 1e-6);
  }
}

TEST_P(Retrieval, TakesOtherDtypesAndShapes) {
  for (const RetrievalCase &metric : cases()) {
    const Batch all = random_batch(40, metric, {});
    const double expected = reference(metric, all, {});
    for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kDouble}) {
      const Batch moved = all.part(0, 40, device());
      const auto any = metric.make({});
      any->update(moved.preds.to(dtype).view({5, 8}), moved.target.view({5, 8}).to(at::kDouble),
                  moved.indexes.view({5, 8}));
      EXPECT_NEAR(values(any->compute())[0], expected, 1e-6) << any->name();
    }
    if (!metric.graded) {
      const Batch moved = all.part(0, 40, device());
      const auto any = metric.make({});
      any->update(moved.preds, moved.target.to(at::kBool), moved.indexes);
      EXPECT_NEAR(values(any->compute())[0], expected, 1e-6) << any->name();
    }
    const auto nothing = metric.make({});
    update(*nothing, all.part(0, 0, device()));
    EXPECT_EQ(values(nothing->compute())[0], 0);
  }
}

TEST_P(Retrieval, SyncsAsIfSeenByOne) {
  for (const RetrievalCase &metric : cases()) {
    const Batch all = random_batch(40, metric, {});
    const double expected = reference(metric, all, {});
    test::onRanks(3, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
      const auto any = metric.make({});
      if (group->getRank() != 1)
        update(*any,
               group->getRank() == 0 ? all.part(0, 13, device()) : all.part(13, 27, device()));
      any->sync(group);
      EXPECT_NEAR(values(any->compute())[0], expected, 1e-6) << any->name();
    });
  }
}

TEST_P(Retrieval, NoticesWhatIsOutOfRange) {
  const at::Tensor preds = scores({0.5, NAN, 0.25, 1}), indexes = labels({0, 0, 0, 0});
  RetrievalMRR eager(RetrievalMRROptions().validate(Validate::kEager).ignore_index(-100));
  eager.update(scores({0.5}), labels({1}), labels({0}));
  EXPECT_ERROR(eager.update(preds, labels({1, 1, 2, -100}), indexes), "RetrievalMRR", "2 of 4",
               "other than 0 and 1", "ignore_index");
  EXPECT_EQ(values(eager.compute())[0], 1);
  RetrievalNormalizedDCG graded(RetrievalNormalizedDCGOptions().validate(Validate::kEager));
  EXPECT_ERROR(graded.update(preds, scores({1, 1, 2.5, -1}), indexes), "2 of 4", "below 0");

  RetrievalMAP deferred(RetrievalMAPOptions().validate(Validate::kDeferred));
  deferred.update(preds, labels({1, 1, 2, 0}), indexes);
  EXPECT_ERROR(deferred.check_valid(), "RetrievalMAP", "2 documents had", "left out");
  if (device().is_cpu())
    EXPECT_ERROR(deferred.compute(), "2 documents");
  else
    EXPECT_TRUE(std::isnan(values(deferred.compute())[0]));

  RetrievalRecall strict(RetrievalRecallOptions().empty_target_action(EmptyTargetAction::kError));
  strict.update(scores({1, 0.5}), labels({1, 0}), labels({0, 0}));
  strict.check_valid();
  EXPECT_EQ(values(strict.compute())[0], 1);
  strict.update(scores({1, 0.5}), labels({0, 0}), labels({2, 2}));
  EXPECT_ERROR(strict.check_valid(), "RetrievalRecall", "1 have none", "empty_target_action");
  if (device().is_cpu())
    EXPECT_ERROR(strict.compute(), "1 have none");
  else
    EXPECT_TRUE(std::isnan(values(strict.compute())[0]));
}

TEST_P(Retrieval, RefusesWrongInputs) {
  for (const RetrievalCase &metric : cases()) {
    const auto any = metric.make({});
    const std::string name = any->name();
    const Batch good = random_batch(10, metric, {}).part(0, 10, device());
    update(*any, good);
    const Vector before = values(any->compute());
    EXPECT_ERROR(any->update(good.target, good.target, good.indexes), name, "preds", "Long");
    EXPECT_ERROR(any->update(good.preds, good.target, good.preds), name, "indexes", "Float");
    EXPECT_ERROR(any->update(good.preds, good.target.narrow(0, 0, 3), good.indexes), name, "[3]",
                 "same shape");
    EXPECT_ERROR(any->update(good.preds, good.target, good.indexes.to(at::kMeta)), name, "indexes",
                 "meta");
    EXPECT_EQ(values(any->compute()), before);
    update(*any, good);
    good.preds.add_(1);
    EXPECT_ERROR(any->compute(), name, "`preds` was written to");
  }
  EXPECT_ERROR(RetrievalMRR(RetrievalMRROptions().top_k(0)), "RetrievalMRR", "but is 0");
  RetrievalMRR one(RetrievalMRROptions().top_k(1)), all;
  EXPECT_ERROR(one.merge(all), "top_k=1", "top_k=none");
}

TEST_P(Retrieval, UpdateOnMetaTensors) {
  for (const RetrievalCase &metric : cases()) {
    RetrievalArguments a;
    a.validate = Validate::kEager;
    const auto any = metric.make(a);
    for (int step = 0; step < 2; ++step)
      update(*any, random_batch(10, metric, a).part(0, 10, at::kMeta));
    EXPECT_EQ(any->states()[0].size(0), 20);
  }
}

class RetrievalNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(RetrievalNoSync);

TEST_P(RetrievalNoSync, NeverWaitsForTheDevice) {
  for (const RetrievalCase &metric : cases())
    for (const QueryAggregation aggregation :
         {QueryAggregation::kMean, QueryAggregation::kMedian}) {
      RetrievalArguments a{3, false, {}, -1, aggregation};
      Batch batch;
      {
        const test::HostAccessScope host_access;
        batch = random_batch(20, metric, a).part(0, 20, device());
      }
      const devsan::ExpectNoSync no_sync;
      const auto any = metric.make(a);
      for (int step = 0; step < 2; ++step)
        update(*any, batch);
      EXPECT_EQ(any->compute().device(), device());
    }
}

} // namespace
} // namespace devsan::metrics
