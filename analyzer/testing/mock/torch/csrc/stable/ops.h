#pragma once
#include <torch/csrc/stable/tensor.h>

namespace torch::stable {

Tensor new_empty(const Tensor &self, std::initializer_list<int64_t> size);

} // namespace torch::stable
