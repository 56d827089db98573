#pragma once

#include <ATen/TensorOperators.h>

#include "metrics/retrieval/retrieval_metric.h"

namespace devsan::metrics {

// R-precision: the share of relevant documents among the first R, the number of all relevant ones.
// See RetrievalMetric.
struct RPrecisionFormula {
  static constexpr const char *kName = "RetrievalRPrecision";
  using Options = RetrievalOptions;
  static at::Tensor value(const RankedDocuments &d) {
    const at::Tensor behind = d.rank.gt(d.all_relevance.gather(0, d.query));
    return d.by_query(d.relevance.masked_fill(behind, 0)) / d.all_relevance;
  }
};

DEVSAN_RETRIEVAL_METRIC(RetrievalRPrecision, retrieval_r_precision, RPrecisionFormula)

} // namespace devsan::metrics
