#include "metrics/retrieval/normalized_dcg.h"

#include <ATen/ATen.h>

#include "metrics/functional/safe_divide.h"

namespace devsan::metrics {

at::Tensor NormalizedDCGFormula::value(const RankedDocuments &d) {
  const int64_t n = d.query.size(0);
  const auto differs = [&](const at::Tensor &x) {
    return x.narrow(0, 1, n - 1).ne(x.narrow(0, 0, n - 1));
  };
  // Runs of equal scores in a query; documents left out are NaN, which differs.
  const at::Tensor run =
      at::constant_pad_nd(differs(d.scores).bitwise_or(differs(d.query)).cumsum(0), {1, 0}, 0);
  const auto by_run = [&](const at::Tensor &x) {
    return at::zeros_like(x).scatter_add(0, run, x).gather(0, run);
  };
  const at::Tensor shared = by_run(d.relevance) / by_run(at::ones_like(d.relevance));
  const at::Tensor discount =
      d.found(1 / (d.rank + 1).log2()).masked_fill(d.counted.bitwise_not(), 0);
  return safe_divide(d.by_query(shared * discount), d.by_query(d.ideal * discount));
}

} // namespace devsan::metrics
