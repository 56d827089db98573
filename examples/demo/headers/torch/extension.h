// As much of LibTorch as scale.cpp uses, so that `devsan demo` needs neither LibTorch's headers nor those of a C++ library.
#pragma once
namespace c10 {
class Device {};
} // namespace c10
namespace at {
class Tensor {
public:
  Tensor cuda() const;
  Tensor to(c10::Device device) const;
  c10::Device device() const;
  Tensor operator*(const Tensor &other) const;
};
} // namespace at
namespace torch {
using at::Tensor;
} // namespace torch
