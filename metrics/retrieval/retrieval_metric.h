// The family of metrics of rankings: documents with a score and a relevance, each belonging to a
// query; a value for each query, and over the queries their mean. A metric of the family is a
// formula: the values of all queries at once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ATen/ops/zeros_like.h>
#include <torch/arg.h>

#include "metrics/metric.h"
#include "metrics/shared_arg.h"
#include "metrics/validate.h"

namespace devsan::metrics {

// What becomes of a query without a relevant document (of fall-out: without another one).
enum class EmptyTargetAction {
  kNeg,   // its value is 0
  kPos,   // its value is 1
  kSkip,  // it is left out
  kError, // an error of compute() for states on the CPU; on other devices, where it must not wait,
          // the result is NaN, and check_valid() tells
};

// How the values of the queries become one; 0 where there are none.
enum class QueryAggregation {
  kMean,
  kMedian, // the lower of two
  kMin,
  kMax,
};

template <class Self> class RetrievalOptionsOf {
  DEVSAN_SHARED_ARG(EmptyTargetAction, empty_target_action) = EmptyTargetAction::kNeg;
  // Documents with this target are left out.
  DEVSAN_SHARED_ARG(std::optional<int64_t>, ignore_index) = std::nullopt;
  DEVSAN_SHARED_ARG(QueryAggregation, aggregation) = QueryAggregation::kMean;
  DEVSAN_SHARED_ARG(Validate, validate) = Validate::kAuto;
};

template <class Self> class TopKOptionsOf : public RetrievalOptionsOf<Self> {
  // Only the documents with the `top_k` highest scores of a query count as found; all by default.
  DEVSAN_SHARED_ARG(std::optional<int64_t>, top_k) = std::nullopt;
};

class RetrievalOptions : public RetrievalOptionsOf<RetrievalOptions> {};
class TopKRetrievalOptions : public TopKOptionsOf<TopKRetrievalOptions> {};

// What a metric's options come down to. An option that a metric has not keeps its value here.
struct RetrievalConfig {
  template <class Options>
  explicit RetrievalConfig(const Options &options)
      : empty_target_action(options.empty_target_action()), ignore_index(options.ignore_index()),
        aggregation(options.aggregation()), validate(options.validate()) {
    if constexpr (requires { options.top_k(); })
      top_k = options.top_k();
    if constexpr (requires { options.adaptive_k(); })
      adaptive_k = options.adaptive_k();
  }

  EmptyTargetAction empty_target_action;
  std::optional<int64_t> ignore_index;
  QueryAggregation aggregation;
  Validate validate;
  std::optional<int64_t> top_k;
  bool adaptive_k = false;
  bool graded = false;       // relevance is a number, not 0 or 1
  bool of_negatives = false; // an empty query is one without a document that is not relevant
};

// All documents, query by query, and in a query from the highest score down. What belongs to a
// query is at the query's number, which is below N; the numbers from that of the queries on belong
// to none and are 0. Real numbers are in the widest format of the device.
struct RankedDocuments {
  explicit RankedDocuments(const RetrievalConfig &config) : config(config) {}

  at::Tensor query;     // int64 [N]: of each document
  at::Tensor place;     // real [N]: from 1 on in its query
  at::Tensor rank;      // real [N]: the place of the last of equal score; of_negatives
                        // of the first
  at::Tensor last;      // int64 [N]: which document is that last one
  at::Tensor relevance; // real [N]
  at::Tensor counted;   // bool [N]: others are the last of their query, relevance 0
  at::Tensor tie;       // int64 [N]: number of those with this query and score
  at::Tensor documents, all_relevance; // real [N], of each query
  at::Tensor ideal;                    // real [N]: the relevance if each query was ordered by it;
                                       // only if graded
  const RetrievalConfig &config;

  // Sums of documents' numbers by query.
  at::Tensor by_query(const at::Tensor &x) const;
  // Sums of the documents of equal score.
  at::Tensor by_tie(const at::Tensor &x) const;
  // Sums of a query's documents up to each.
  at::Tensor up_to(const at::Tensor &x) const;
  // The relevance of documents whose rank is within top_k, 0 of others.
  at::Tensor found() const;
  // The same of other numbers, and of ranks or places.
  at::Tensor found(const at::Tensor &x, const at::Tensor &where) const;
};

// update()   preds: floating, any shape; target: as preds, integer, bool or floating, 1 for
//            relevant documents and 0 for others, or graded, from 0 on; indexes: int64, as preds,
//            which query each document belongs to, any numbers in any order. A query may be spread
//            over updates. Out of range are NaN scores and other targets, see Validate. The tensors
//            are kept as they are: no copies are made, and they must not be written to, which
//            compute() notices (unless they were made in inference mode).
// compute()  float32 []. Where deferred validation has met documents out of range, it throws for
//            states on the CPU; on other devices, where it must not wait, the result is NaN, and
//            check_valid() tells how many. Two stable sorts of all documents, N log N, and no loop
//            over queries.
//
// Documents of a query with equal scores have the rank of the last of them, as in scikit-learn's
// average_precision_score and label_ranking_average_precision_score: no order of the updates makes
// scores better that tell nothing. Fall-out, which is better if it is small, takes the first.
//
// Scores are read as they are. TorchMetrics does not count relevant documents whose score is 0 or
// less as found in precision, recall, average precision and reciprocal rank, though it does in the
// others; here a score has no sign that matters.
class RetrievalMetric : public Metric {
public:
  std::string name() const final { return name_; }
  void update(const at::Tensor &preds, const at::Tensor &target, const at::Tensor &indexes);
  at::Tensor compute() const final;

  // The values that compute() makes one of, [queries] float32, in the order of the indexes. Waits
  // for the device, since their number is a value.
  at::Tensor query_values() const;

  // Throws if documents were left out because they were out of range, or queries were empty that
  // must not be. Reads two numbers from the device.
  void check_valid() const;

protected:
  RetrievalMetric(const char *name, const RetrievalConfig &config);

  // Of each query, [N]; whatever for numbers that belong to none.
  virtual at::Tensor value(const RankedDocuments &documents) const = 0;

  std::string signature() const final;
  std::string state_signature() const final;
  void check_loaded(const std::vector<at::Tensor> &states) const final;

private:
  struct Documents {
    at::Tensor preds, target, indexes, counted, out_of_range; // [N]
  };
  void check_documents(const at::Tensor &preds, const at::Tensor &target,
                       const at::Tensor &indexes) const;
  Documents documents(const at::Tensor &preds, const at::Tensor &target,
                      const at::Tensor &indexes) const;
  int64_t out_of_range_on_cpu(const at::Tensor &preds, const at::Tensor &target) const;
  RankedDocuments ranked(const Documents &documents) const;
  Documents all_documents() const;
  at::Tensor empty_queries(const RankedDocuments &documents) const;
  struct Queries {
    at::Tensor values, counted; // [N]: real, bool
    at::Tensor bad;             // bool []: what check_valid() throws for
  };
  Queries queries(const Documents &all) const;

  std::string name_;
  RetrievalConfig config_;
};

// The metric of a formula:
//   struct Formula {
//     static constexpr const char *kName;
//     using Options;
//     static at::Tensor value(const RankedDocuments &);
//     static constexpr bool kGraded, kOfNegatives;       // optional, see RetrievalConfig
//   };
template <class Formula> class RetrievalScore final : public RetrievalMetric {
public:
  using Options = typename Formula::Options;
  explicit RetrievalScore(const Options &options = {})
      : RetrievalMetric(Formula::kName, configured(options)) {}
  std::unique_ptr<Metric> clone() const override { return std::make_unique<RetrievalScore>(*this); }

protected:
  at::Tensor value(const RankedDocuments &documents) const override {
    return Formula::value(documents);
  }

private:
  static RetrievalConfig configured(const Options &options) {
    RetrievalConfig config(options);
    config.graded = requires { Formula::kGraded; };
    config.of_negatives = requires { Formula::kOfNegatives; };
    return config;
  }
};

// The functional form, of one query.
template <class AMetric>
at::Tensor evaluate_query(const at::Tensor &preds, const at::Tensor &target,
                          const typename AMetric::Options &options) {
  AMetric metric(options);
  TORCH_CHECK(preds.numel() > 0 && target.numel() > 0, metric.name(),
              ": `preds` and `target` must be non-empty and non-scalar tensors; a query without "
              "documents has no value");
  metric.update(preds, target, at::zeros_like(target, at::kLong));
  return metric.compute();
}

} // namespace devsan::metrics

// Gives a metric its public names: the class, its options and its functional form.
#define DEVSAN_RETRIEVAL_METRIC(Class, function, Formula)                                          \
  using Class = RetrievalScore<Formula>;                                                           \
  using Class##Options = Class::Options;                                                           \
  inline at::Tensor function(const at::Tensor &preds, const at::Tensor &target,                    \
                             const Class##Options &options = {}) {                                 \
    return evaluate_query<Class>(preds, target, options);                                          \
  }
