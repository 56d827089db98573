#include "metrics/retrieval/reciprocal_rank.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor ReciprocalRankFormula::value(const RankedDocuments &d) {
  const at::Tensor first = d.up_to(d.relevance).eq(1).bitwise_and(d.relevance.gt(0));
  return d.by_query(d.found((1 / d.rank).masked_fill(first.bitwise_not(), 0), d.rank));
}

} // namespace devsan::metrics
