// The fused RMS normalisation of GPUs, and its gradient; computed in float for half precision.
#include <limits>
#include <vector>

#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>

#include "operands.h"
#include "runtime/sim/dispatch/checked_kernel.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using at::Tensor;

std::vector<int64_t> lastDims(std::size_t count) {
  std::vector<int64_t> dims;
  for (std::size_t i = 0; i < count; ++i)
    dims.push_back(-1 - static_cast<int64_t>(i));
  return dims;
}

std::vector<int64_t> leadingDims(const Tensor &tensor, std::size_t normalised) {
  std::vector<int64_t> dims;
  for (int64_t dim = 0; dim < tensor.dim() - static_cast<int64_t>(normalised); ++dim)
    dims.push_back(dim);
  return dims;
}

double smallest(at::ScalarType type) {
  return type == at::kDouble ? std::numeric_limits<double>::epsilon()
                             : static_cast<double>(std::numeric_limits<float>::epsilon());
}

std::tuple<Tensor, Tensor> forward(const Tensor &input, at::IntArrayRef normalized_shape,
                                   const OptionalTensor &weight, std::optional<double> eps) {
  Tensor wide = widened(input);
  Tensor rstd = at::rsqrt(wide.square().mean(lastDims(normalized_shape.size()), true) +
                          eps.value_or(smallest(wide.scalar_type())));
  Tensor output = wide * rstd;
  if (has(weight))
    output = output * *weight;
  return {output.to(input.scalar_type()), rstd};
}

std::tuple<Tensor, Tensor> backward(const Tensor &grad_out, const Tensor &input,
                                    at::IntArrayRef normalized_shape, const Tensor &rstd,
                                    const OptionalTensor &weight, std::array<bool, 2> wanted) {
  Tensor grad = widened(grad_out), normalised = widened(input) * rstd;
  Tensor grad_input, grad_weight;
  if (wanted[0]) {
    Tensor scaled = has(weight) ? grad * *weight : grad;
    Tensor along = (scaled * normalised).mean(lastDims(normalized_shape.size()), true);
    grad_input = ((scaled - normalised * along) * rstd).to(input.scalar_type());
  }
  if (wanted[1] && has(weight)) {
    Tensor product = grad * normalised;
    auto dims = leadingDims(input, normalized_shape.size());
    grad_weight = (dims.empty() ? product : product.sum(dims)).to(weight->scalar_type());
  }
  return {grad_input, grad_weight};
}

} // namespace

DEVSAN_SIM_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("_fused_rms_norm", checked<&forward>());
  m.impl("_fused_rms_norm_backward", checked<&backward>());
}

} // namespace devsan::sim
