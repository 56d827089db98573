#pragma once

#include <ATen/TensorOperators.h>

#include "metrics/retrieval/retrieval_metric.h"

namespace devsan::metrics {

// Recall: the relevant documents found, over all relevant ones. See RetrievalMetric.
struct RetrievalRecallFormula {
  static constexpr const char *kName = "RetrievalRecall";
  using Options = TopKRetrievalOptions;
  static at::Tensor value(const RankedDocuments &d) {
    return d.by_query(d.found()) / d.all_relevance;
  }
};

DEVSAN_RETRIEVAL_METRIC(RetrievalRecall, retrieval_recall, RetrievalRecallFormula)

} // namespace devsan::metrics
