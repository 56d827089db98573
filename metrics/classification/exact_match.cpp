#include "metrics/classification/exact_match.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor ExactMatchMetric::count(const Samples &samples) const {
  // Rows are what has to be right together.
  const auto rows = [&](const at::Tensor &x) {
    return x.dim() == 2 ? x
                        : x.view({samples.inner ? x.numel() / samples.inner : 0, samples.inner});
  };
  const at::Tensor counted = rows(samples.counted);
  const at::Tensor wrong = samples.predicted.ne(samples.target).bitwise_and(samples.counted);
  const at::Tensor included =
      counted.any(1).bitwise_and(rows(samples.out_of_range).any(1).bitwise_not());
  const at::Tensor right = included.bitwise_and(rows(wrong).any(1).bitwise_not());
  return at::stack({right.sum(), included.sum()});
}

} // namespace devsan::metrics
