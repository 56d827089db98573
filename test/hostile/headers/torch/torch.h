// As much of LibTorch as a finding needs. The mock headers of the checks' tests cost 0.4 s a file, and these tests analyse hundreds.
#pragma once
#include <c10/core/Device.h>
namespace at {
using c10::Device;
class Tensor {
public:
  Tensor cpu() const;
  Tensor cuda() const;
  Tensor to(Device device) const;
  Device device() const;
  Tensor operator+(const Tensor &other) const;
};
Tensor arange(int end);
Tensor ones(int size);
} // namespace at
namespace torch {
using namespace at;
} // namespace torch
