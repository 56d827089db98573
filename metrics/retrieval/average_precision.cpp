#include "metrics/retrieval/average_precision.h"

#include <ATen/ATen.h>

#include "metrics/functional/safe_divide.h"

namespace devsan::metrics {

at::Tensor RetrievalAveragePrecisionFormula::value(const RankedDocuments &d) {
  const at::Tensor found = d.found();
  // Ranks are 0 before the first document of a query that counts.
  const at::Tensor precision = d.up_to(d.relevance).gather(0, d.last) / d.rank.clamp_min(1);
  return safe_divide(d.by_query(found * precision), d.by_query(found));
}

} // namespace devsan::metrics
