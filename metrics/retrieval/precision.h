#pragma once

#include <ATen/TensorOperators.h>

#include "metrics/retrieval/retrieval_metric.h"

namespace devsan::metrics {

class AdaptiveKRetrievalOptions : public TopKOptionsOf<AdaptiveKRetrievalOptions> {
  // Where a query has fewer than `top_k` documents, divide by their number instead.
  TORCH_ARG(bool, adaptive_k) = false;
};

// Precision: the relevant documents found, over top_k (all documents, if not given). See
// RetrievalMetric.
struct RetrievalPrecisionFormula {
  static constexpr const char *kName = "RetrievalPrecision";
  using Options = AdaptiveKRetrievalOptions;
  static at::Tensor value(const RankedDocuments &d) {
    const at::Tensor found = d.by_query(d.found());
    if (!d.config.top_k)
      return found / d.documents;
    const auto k = static_cast<double>(*d.config.top_k);
    return d.config.adaptive_k ? found / d.documents.clamp_max(k) : found / k;
  }
};

DEVSAN_RETRIEVAL_METRIC(RetrievalPrecision, retrieval_precision, RetrievalPrecisionFormula)

} // namespace devsan::metrics
