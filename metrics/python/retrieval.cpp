// The metrics of rankings: a line for each, with what its options do not say.

#include "metrics/python/binding.h"

#include "metrics/retrieval/average_precision.h"
#include "metrics/retrieval/fall_out.h"
#include "metrics/retrieval/hit_rate.h"
#include "metrics/retrieval/normalized_dcg.h"
#include "metrics/retrieval/precision.h"
#include "metrics/retrieval/r_precision.h"
#include "metrics/retrieval/recall.h"
#include "metrics/retrieval/reciprocal_rank.h"

namespace devsan::metrics::python {
namespace {

std::vector<const char *> documents() {
  return {"preds", "target", "indexes"};
}

} // namespace

#define DEVSAN_BIND(Class, function, ...)                                                          \
  bind<Class, Class##Options>("retrieval", #Class, #function, About __VA_ARGS__);

void bind_retrieval() {
  DEVSAN_BIND(
      RetrievalMAP, retrieval_average_precision,
      {.summary =
           R"(Mean average precision: the mean over the relevant documents that are found of the share of relevant ones up to them,
mean over the queries.)",
       .higher_is_better = true,
       .inputs = documents()})
  DEVSAN_BIND(RetrievalMRR, retrieval_reciprocal_rank,
              {.summary = "Mean reciprocal rank: 1 over the rank of the first relevant document "
                          "that is found, mean over the queries.",
               .higher_is_better = true,
               .inputs = documents()})
  DEVSAN_BIND(
      RetrievalPrecision, retrieval_precision,
      {.summary = "Precision: the relevant documents found, over top_k, mean over the queries.",
       .higher_is_better = true,
       .inputs = documents()})
  DEVSAN_BIND(
      RetrievalRecall, retrieval_recall,
      {.summary =
           "Recall: the relevant documents found, over all relevant ones, mean over the queries.",
       .higher_is_better = true,
       .inputs = documents()})
  DEVSAN_BIND(RetrievalRPrecision, retrieval_r_precision,
              {.summary = "R-precision: the share of relevant documents among the first R, the "
                          "number of all relevant ones, mean over the queries.",
               .higher_is_better = true,
               .inputs = documents()})
  DEVSAN_BIND(
      RetrievalHitRate, retrieval_hit_rate,
      {.summary = "Hit rate: 1 where a relevant document is found, else 0, mean over the queries.",
       .higher_is_better = true,
       .inputs = documents()})
  DEVSAN_BIND(RetrievalFallOut, retrieval_fall_out,
              {.summary = "Fall-out: the documents found that are not relevant, over all that are "
                          "not, mean over the queries.",
               .higher_is_better = false,
               .inputs = documents()})
  DEVSAN_BIND(
      RetrievalNormalizedDCG, retrieval_normalized_dcg,
      {.summary =
           R"(Normalised discounted cumulative gain: the relevance of the documents found, each divided by log2(rank + 1), over what it
is in the best order, mean over the queries. Relevance is graded, from 0 on.)",
       .higher_is_better = true,
       .inputs = documents()})
}

} // namespace devsan::metrics::python
