#pragma once

#include "metrics/retrieval/retrieval_metric.h"

namespace devsan::metrics {

// Mean average precision: the mean over the relevant documents that are found of the share of
// relevant ones up to them; 0 where none is found. See RetrievalMetric.
struct RetrievalAveragePrecisionFormula {
  static constexpr const char *kName = "RetrievalMAP";
  using Options = TopKRetrievalOptions;
  static at::Tensor value(const RankedDocuments &documents);
};

DEVSAN_RETRIEVAL_METRIC(RetrievalMAP, retrieval_average_precision, RetrievalAveragePrecisionFormula)

} // namespace devsan::metrics
