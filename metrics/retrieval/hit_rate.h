#pragma once

#include <ATen/TensorOperators.h>

#include "metrics/retrieval/retrieval_metric.h"

namespace devsan::metrics {

// Hit rate: 1 where a relevant document is found, else 0. See RetrievalMetric.
struct HitRateFormula {
  static constexpr const char *kName = "RetrievalHitRate";
  using Options = TopKRetrievalOptions;
  static at::Tensor value(const RankedDocuments &d) {
    return d.by_query(d.found()).gt(0).to(d.rank.scalar_type());
  }
};

DEVSAN_RETRIEVAL_METRIC(RetrievalHitRate, retrieval_hit_rate, HitRateFormula)

} // namespace devsan::metrics
