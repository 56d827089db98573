#include "metrics/retrieval/retrieval_metric.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include <ATen/ATen.h>

#include "metrics/detail/wide.h"

namespace devsan::metrics {
namespace {

enum StateIndex { kPreds, kTarget, kIndexes };

at::ScalarType real_on(at::Device device) {
  return detail::base_dtype(default_accumulation(device));
}

// The order by `keys`, NaN last, in each query; equal ones in theirs.
at::Tensor order_by(const at::Tensor &keys, const at::Tensor &indexes) {
  const std::optional<bool> stable = true;
  const at::Tensor by_key = std::get<1>(keys.sort(stable, 0));
  const at::Tensor by_query = std::get<1>(indexes.gather(0, by_key).sort(stable, 0));
  return by_key.gather(0, by_query);
}

// Whether documents without an ignore_index all are in range.
template <typename Score>
[[gnu::always_inline]] inline bool in_range(const Score *scores, const int64_t *targets, int64_t n,
                                            bool graded) {
  int64_t bits = 0;
  int nan = 0;
  for (int64_t i = 0; i < n; ++i) {
    bits |= targets[i];
    nan |= std::isnan(scores[i]);
  }
  return nan == 0 && (graded ? bits >= 0 : (bits & ~int64_t{1}) == 0);
}

#if defined(__x86_64__)
template <typename Score>
[[gnu::target("avx2")]] bool in_range_by_avx2(const Score *scores, const int64_t *targets,
                                              int64_t n, bool graded) {
  return in_range(scores, targets, n, graded);
}
#endif

template <typename Score>
bool best_in_range(const Score *scores, const int64_t *targets, int64_t n, bool graded) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return in_range_by_avx2(scores, targets, n, graded);
#endif
  return in_range(scores, targets, n, graded);
}

} // namespace

at::Tensor RankedDocuments::by_query(const at::Tensor &x) const {
  return at::zeros_like(x).scatter_add(0, query, x);
}

at::Tensor RankedDocuments::by_tie(const at::Tensor &x) const {
  return at::zeros_like(x).scatter_add(0, tie, x).gather(0, tie);
}

at::Tensor RankedDocuments::up_to(const at::Tensor &x) const {
  const at::Tensor sums = by_query(x);
  return x.cumsum(0) - (sums.cumsum(0) - sums).gather(0, query);
}

at::Tensor RankedDocuments::found(const at::Tensor &x, const at::Tensor &where) const {
  return config.top_k ? x.masked_fill(where.gt(*config.top_k), 0) : x;
}

at::Tensor RankedDocuments::found() const {
  return found(relevance, rank);
}

RetrievalMetric::RetrievalMetric(const char *name, const RetrievalConfig &config)
    : Metric({{"preds", {}, StateSpec::Kind::kList},
              {"target", {}, StateSpec::Kind::kList},
              {"indexes", {}, StateSpec::Kind::kList}}),
      name_(name), config_(config) {
  TORCH_CHECK(!config_.top_k || *config_.top_k >= 1, name_,
              ": `top_k` has to be a positive integer or None, for all documents, but is ",
              *config_.top_k);
}

void RetrievalMetric::check_documents(const at::Tensor &preds, const at::Tensor &target,
                                      const at::Tensor &indexes) const {
  check_inputs({{"preds", preds}, {"target", target}, {"indexes", indexes}});
  TORCH_CHECK(indexes.sizes() == preds.sizes() || preds.sizes() != target.sizes(), name_,
              ": `indexes`, `preds` and `target` must be of the same shape, but are ",
              indexes.sizes(), ", ", preds.sizes(), " and ", target.sizes());
  TORCH_CHECK(preds.sizes() == target.sizes(), name_,
              ": `preds` and `target` must be of the same shape, but are ", preds.sizes(), " and ",
              target.sizes());
  TORCH_CHECK(preds.is_floating_point(), name_,
              ": `preds` must be a tensor of floats, but has dtype ", preds.scalar_type());
  TORCH_CHECK(!target.is_complex(), name_, ": `target` has dtype ", target.scalar_type(),
              "; pass real numbers, or bool");
  TORCH_CHECK(indexes.scalar_type() == at::kLong, name_,
              ": `indexes` must be a tensor of long integers, but has dtype ",
              indexes.scalar_type());
}

void RetrievalMetric::check_loaded(const std::vector<at::Tensor> &states) const {
  if (all_empty(states))
    return;
  check_documents(states[kPreds], states[kTarget], states[kIndexes]);
  TORCH_CHECK(states[kPreds].dim() == 1, name_, ": `preds` has shape ", states[kPreds].sizes(),
              ", not [N]");
}

void RetrievalMetric::update(const at::Tensor &preds, const at::Tensor &target,
                             const at::Tensor &indexes) {
  check_documents(preds, target, indexes);
  const StateScope scope;
  if (validates_eagerly(config_.validate, preds)) {
    int64_t number = 0;
    if (preds.is_cpu()) {
      number = out_of_range_on_cpu(preds, target);
    } else {
      const at::Tensor out_of_range = documents(preds, target, indexes).out_of_range.sum();
      // NOLINTNEXTLINE(device-host-sync): asked for by Validate::kEager
      number = out_of_range.item<int64_t>();
    }
    TORCH_CHECK(number == 0, name_, ": ",
                config_.graded ? "" : "`target` must contain `binary` values: ", number, " of ",
                preds.numel(), " documents have a score that is NaN or a target ",
                config_.graded ? "below 0" : "other than 0 and 1",
                "; correct them, or name the target of documents to leave out as ignore_index");
  }
  append({preds.reshape(-1), target.reshape(-1), indexes.reshape(-1)});
}

int64_t RetrievalMetric::out_of_range_on_cpu(const at::Tensor &preds,
                                             const at::Tensor &target) const {
  const auto count = [&](const auto *scores, const auto *targets) {
    using Target = std::decay_t<decltype(*targets)>;
    const int64_t n = preds.numel();
    const bool graded = config_.graded, ignores = config_.ignore_index.has_value();
    if constexpr (std::is_same_v<Target, int64_t>)
      if (best_in_range(scores, targets, n, graded))
        return int64_t{0};
    const auto ignored = static_cast<Target>(config_.ignore_index.value_or(0));
    int64_t number = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Target y = targets[i];
      const bool in_range = graded ? y >= 0 : (y == 0) | (y == 1);
      const bool is_number = !std::isnan(scores[i]);
      number += !(in_range & is_number) & !(ignores & (y == ignored));
    }
    return number;
  };
  const auto with_scores = [&](const auto *targets) {
    if (preds.scalar_type() == at::kDouble)
      return count(preds.resolve_neg().contiguous().const_data_ptr<double>(), targets);
    const at::Tensor scores = preds.resolve_neg().to(at::kFloat).contiguous();
    return count(scores.const_data_ptr<float>(), targets);
  };
  const at::Tensor targets =
      target.resolve_neg().to(target.is_floating_point() ? at::kDouble : at::kLong).contiguous();
  return target.is_floating_point() ? with_scores(targets.const_data_ptr<double>())
                                    : with_scores(targets.const_data_ptr<int64_t>());
}

RetrievalMetric::Documents RetrievalMetric::documents(const at::Tensor &preds,
                                                      const at::Tensor &target,
                                                      const at::Tensor &indexes) const {
  // Not in the range of narrower integers, to which a comparison would round an ignore_index.
  const at::Tensor y = at::isIntegralType(target.scalar_type(), /*includeBool=*/false)
                           ? target.to(at::kLong)
                           : target;
  const at::Tensor in_range = config_.graded ? y.ge(0) : y.eq(0).bitwise_or(y.eq(1));
  const at::Tensor valid = in_range.bitwise_and(preds.eq(preds));
  if (!config_.ignore_index)
    return {preds, y, indexes, valid, valid.bitwise_not()};
  const at::Tensor kept = y.ne(*config_.ignore_index);
  return {preds, y, indexes, valid.bitwise_and(kept), valid.bitwise_not().bitwise_and(kept)};
}

RetrievalMetric::Documents RetrievalMetric::all_documents() const {
  const std::vector<at::Tensor> &states = computable_states();
  return documents(states[kPreds], states[kTarget], states[kIndexes].to(at::kLong));
}

RankedDocuments RetrievalMetric::ranked(const Documents &all) const {
  const at::ScalarType real = real_on(all.preds.device());
  const at::Tensor left_out = all.counted.bitwise_not();
  const at::Tensor relevance = all.target.to(real).masked_fill(left_out, 0);
  const at::Tensor keys = (-all.preds).masked_fill(left_out, NAN);
  const at::Tensor order = order_by(keys, all.indexes);
  const at::Tensor indexes = all.indexes.gather(0, order);
  const int64_t n = indexes.size(0);
  const auto changes = [n](const at::Tensor &x) {
    return x.narrow(0, 1, n - 1).ne(x.narrow(0, 0, n - 1));
  };
  const auto numbered = [](const at::Tensor &changes) {
    return at::constant_pad_nd(changes.cumsum(0), {1, 0}, 0);
  };
  const at::Tensor new_query = changes(indexes);

  RankedDocuments result(config_);
  result.query = numbered(new_query);
  // Documents left out are NaN, which differs.
  result.tie = numbered(new_query.bitwise_or(changes(keys.gather(0, order))));
  result.relevance = relevance.gather(0, order);
  result.counted = all.counted.gather(0, order);
  const at::Tensor ones = result.counted.to(real), each = at::ones_like(result.tie);
  result.place = result.up_to(ones);
  result.last =
      at::zeros_like(each).scatter_add(0, result.tie, each).cumsum(0).gather(0, result.tie) - 1;
  result.rank = result.place.gather(0, result.last);
  if (config_.of_negatives)
    result.rank = result.rank - result.by_tie(ones) + 1;
  result.documents = result.by_query(ones);
  result.all_relevance = result.by_query(result.relevance);
  if (config_.graded) // the queries and the documents left out are at the same places as above
    result.ideal =
        relevance.gather(0, order_by((-relevance).masked_fill(left_out, NAN), all.indexes));
  return result;
}

at::Tensor RetrievalMetric::empty_queries(const RankedDocuments &documents) const {
  const at::Tensor all = config_.of_negatives ? documents.documents - documents.all_relevance
                                              : documents.all_relevance;
  return all.eq(0).bitwise_and(documents.documents.gt(0));
}

RetrievalMetric::Queries RetrievalMetric::queries(const Documents &all) const {
  const RankedDocuments documents = ranked(all);
  const at::Tensor empty = empty_queries(documents);
  at::Tensor bad = all.out_of_range.any();
  if (config_.empty_target_action == EmptyTargetAction::kError)
    bad = bad.bitwise_or(empty.any());
  if (bad.is_cpu())
    check_valid();

  at::Tensor counted = documents.documents.gt(0);
  if (config_.empty_target_action == EmptyTargetAction::kSkip)
    counted = counted.bitwise_and(empty.bitwise_not());
  const bool pos = config_.empty_target_action == EmptyTargetAction::kPos;
  return {value(documents).masked_fill(empty, pos ? 1 : 0), counted, bad};
}

at::Tensor RetrievalMetric::query_values() const {
  const StateScope scope;
  const Documents all = all_documents();
  if (all.preds.size(0) == 0)
    return at::empty({0}, all.preds.options().dtype(at::kFloat));
  const Queries each = queries(all);
  // NOLINTNEXTLINE(device-host-sync): the length of the result
  const at::Tensor kept = each.values.masked_select(each.counted);
  return kept.masked_fill(each.bad, NAN).to(at::kFloat);
}

at::Tensor RetrievalMetric::compute() const {
  const StateScope scope;
  const Documents all = all_documents();
  const auto real = all.preds.options().dtype(real_on(all.preds.device()));
  if (all.preds.size(0) == 0)
    return shaped_result(at::zeros({}, real), at::kFloat);
  const auto [values, counted, bad] = queries(all);
  const at::Tensor number = counted.sum();
  const auto with = [&, &values = values, &counted = counted](double other) {
    return values.masked_fill(counted.bitwise_not(), other);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  at::Tensor result;
  switch (config_.aggregation) {
  case QueryAggregation::kMean:
    result = with(0).sum() / number.to(values.scalar_type());
    break;
  case QueryAggregation::kMedian: {
    const at::Tensor middle = (number - 1).clamp_min(0).floor_divide(2);
    result = std::get<0>(with(kInfinity).sort()).gather(0, middle.unsqueeze(0)).squeeze(0);
    break;
  }
  case QueryAggregation::kMin:
    result = with(kInfinity).amin();
    break;
  case QueryAggregation::kMax:
    result = with(-kInfinity).amax();
    break;
  }
  return shaped_result(result.masked_fill(number.eq(0), 0).masked_fill(bad, NAN), at::kFloat);
}

void RetrievalMetric::check_valid() const {
  const StateScope scope;
  const Documents all = all_documents();
  if (all.preds.size(0) == 0)
    return;
  const bool empty_too = config_.empty_target_action == EmptyTargetAction::kError;
  const at::Tensor out_of_range = all.out_of_range.sum();
  const at::Tensor numbers = at::stack({out_of_range, empty_too ? empty_queries(ranked(all)).sum()
                                                                : at::zeros_like(out_of_range)})
                                 .cpu();
  const int64_t *number = numbers.const_data_ptr<int64_t>();
  TORCH_CHECK(number[0] == 0, name_, ": ", number[0],
              " documents had a score that is NaN or a target ",
              config_.graded ? "below 0" : "other than 0 and 1",
              " and were left out; correct them, or name the target of documents to leave out as "
              "ignore_index");
  TORCH_CHECK(number[1] == 0, name_, ": `compute` method was provided with a query with no ",
              config_.of_negatives ? "negative" : "positive", " target: ", number[1], " have none",
              "; pass some, or choose another empty_target_action");
}

std::string RetrievalMetric::state_signature() const {
  return c10::str("documents, graded=", config_.graded, ", ignore_index=",
                  config_.ignore_index ? std::to_string(*config_.ignore_index) : "none",
                  ", validate=", static_cast<int>(config_.validate));
}

std::string RetrievalMetric::signature() const {
  return c10::str("top_k=", config_.top_k ? std::to_string(*config_.top_k) : "none",
                  ", adaptive_k=", config_.adaptive_k,
                  ", empty_target_action=", static_cast<int>(config_.empty_target_action),
                  ", aggregation=", static_cast<int>(config_.aggregation), ", ignore_index=",
                  config_.ignore_index ? std::to_string(*config_.ignore_index) : "none");
}

} // namespace devsan::metrics
