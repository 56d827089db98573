#pragma once

#include "metrics/retrieval/retrieval_metric.h"

namespace devsan::metrics {

// Normalised discounted cumulative gain: the relevance of the documents found, each divided by
// log2(rank + 1), over what it is in the best order (Jarvelin and Kekalainen, Cumulated gain-based
// evaluation of IR techniques, 2002). Relevance is graded, from 0 on. Documents with equal scores
// share the mean of their relevance, as in scikit-learn's ndcg_score. See RetrievalMetric.
struct NormalizedDCGFormula {
  static constexpr const char *kName = "RetrievalNormalizedDCG";
  static constexpr bool kGraded = true;
  using Options = TopKRetrievalOptions;
  static at::Tensor value(const RankedDocuments &documents);
};

DEVSAN_RETRIEVAL_METRIC(RetrievalNormalizedDCG, retrieval_normalized_dcg, NormalizedDCGFormula)

} // namespace devsan::metrics
