#pragma once

#include "metrics/retrieval/retrieval_metric.h"

namespace devsan::metrics {

// Mean reciprocal rank: 1 over the rank of the first relevant document that is found, 0 where none
// is. See RetrievalMetric.
struct ReciprocalRankFormula {
  static constexpr const char *kName = "RetrievalMRR";
  using Options = TopKRetrievalOptions;
  static at::Tensor value(const RankedDocuments &documents);
};

DEVSAN_RETRIEVAL_METRIC(RetrievalMRR, retrieval_reciprocal_rank, ReciprocalRankFormula)

} // namespace devsan::metrics
