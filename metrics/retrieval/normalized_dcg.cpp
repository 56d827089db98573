#include "metrics/retrieval/normalized_dcg.h"

#include <ATen/ATen.h>

#include "metrics/functional/safe_divide.h"

namespace devsan::metrics {

at::Tensor NormalizedDCGFormula::value(const RankedDocuments &d) {
  const at::Tensor shared = d.by_tie(d.relevance) / d.by_tie(at::ones_like(d.relevance));
  const at::Tensor discount =
      d.found(1 / (d.place + 1).log2(), d.place).masked_fill(d.counted.bitwise_not(), 0);
  return safe_divide(d.by_query(shared * discount), d.by_query(d.ideal * discount));
}

} // namespace devsan::metrics
