#pragma once
#include <cstdint>

namespace torch::stable::accelerator {

class DeviceGuard {
public:
  explicit DeviceGuard(int32_t device_index);
  DeviceGuard(const DeviceGuard &) = delete;
  ~DeviceGuard();
  void set_index(int32_t device_index);
};

} // namespace torch::stable::accelerator
