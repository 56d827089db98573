#pragma once

#include <ATen/TensorOperators.h>

#include "metrics/retrieval/retrieval_metric.h"

namespace devsan::metrics {

class FallOutOptions : public TopKOptionsOf<FallOutOptions> {
public:
  FallOutOptions() { empty_target_action(EmptyTargetAction::kPos); }
};

// Fall-out: the documents found that are not relevant, over all that are not. A query is empty, see
// EmptyTargetAction, where all are relevant. See RetrievalMetric.
struct FallOutFormula {
  static constexpr const char *kName = "RetrievalFallOut";
  static constexpr bool kOfNegatives = true;
  using Options = FallOutOptions;
  static at::Tensor value(const RankedDocuments &d) {
    const at::Tensor others = d.counted.to(d.rank.scalar_type()) - d.relevance;
    return d.by_query(d.found(others, d.rank)) / (d.documents - d.all_relevance);
  }
};

DEVSAN_RETRIEVAL_METRIC(RetrievalFallOut, retrieval_fall_out, FallOutFormula)

} // namespace devsan::metrics
