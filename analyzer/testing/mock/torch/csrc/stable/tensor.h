#pragma once
#include <cstdint>
#include <initializer_list>

namespace torch::stable {

class Device {};

class Tensor {
public:
  Tensor();
  void *data_ptr() const;
  int64_t numel() const;
  int64_t size(int64_t dim) const;
  int32_t get_device_index() const;
  Device device() const;
};

} // namespace torch::stable
