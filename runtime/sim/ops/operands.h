// What several kernels written by hand do with their operands.
#pragma once

#include <optional>

#include <ATen/AccumulateType.h>
#include <ATen/core/Tensor.h>

namespace devsan::sim {

using OptionalTensor = std::optional<at::Tensor>;

inline bool has(const OptionalTensor &tensor) {
  return tensor && tensor->defined();
}

// In the dtype that CUDA's kernels compute with: float for half and bfloat16.
inline at::Tensor widened(const at::Tensor &tensor) {
  return tensor.to(at::toAccumulateType(tensor.scalar_type(), /*is_cuda=*/true));
}

} // namespace devsan::sim
