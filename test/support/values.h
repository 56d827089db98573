// Tensors as plain host numbers, for references that are written as loops.
#pragma once

#include <vector>

#include <ATen/ATen.h>

namespace devsan::test {

template <typename T = double> std::vector<T> values(const at::Tensor &tensor) {
  const at::Tensor flat =
      tensor.detach().to(at::kCPU, c10::CppTypeToScalarType<T>::value).contiguous().view(-1);
  const T *data = flat.const_data_ptr<T>();
  return std::vector<T>(data, data + flat.numel());
}

} // namespace devsan::test
