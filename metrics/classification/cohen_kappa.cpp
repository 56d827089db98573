#include "metrics/classification/cohen_kappa.h"

#include <ATen/ATen.h>

namespace devsan::metrics {

at::Tensor CohenKappaFormula::value(const ConfusionCounts &counts) {
  const at::Tensor matrix = wide(counts.exact);
  const at::Tensor targets = matrix.sum(1, /*keepdim=*/true);
  const at::Tensor predictions = matrix.sum(0, /*keepdim=*/true);
  const at::Tensor classes = at::arange(matrix.size(0), matrix.options());
  const at::Tensor distance = classes.unsqueeze(1) - classes.unsqueeze(0);
  at::Tensor weights;
  switch (counts.config.weights) {
  case KappaWeights::kNone:
    weights = distance.ne(0).to(matrix.scalar_type());
    break;
  case KappaWeights::kLinear:
    weights = distance.abs();
    break;
  case KappaWeights::kQuadratic:
    weights = distance.square();
    break;
  }
  const at::Tensor expected = targets * predictions / matrix.sum();
  return 1 - (weights * matrix).sum() / (weights * expected).sum();
}

} // namespace devsan::metrics
