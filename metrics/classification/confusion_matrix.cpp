#include "metrics/classification/confusion_matrix.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor ConfusionMatrixFormula::value(const ConfusionCounts &counts) {
  const auto divided = [&](at::IntArrayRef dims) {
    const at::Tensor matrix = wide(counts.exact);
    const at::Tensor divisor = matrix.sum(dims, /*keepdim=*/true);
    warn_of_zeros(divisor.expand_as(matrix),
                  " NaN values found in confusion matrix have been replaced with zeros.");
    return safe_divide(matrix, divisor);
  };
  switch (counts.config.normalize) {
  case Normalize::kNone:
    break;
  case Normalize::kTrue:
    return divided({-1});
  case Normalize::kPred:
    return divided({-2});
  case Normalize::kAll:
    return divided({-2, -1});
  }
  return counts.exact.clone(); // not the state itself
}

} // namespace devsan::metrics
