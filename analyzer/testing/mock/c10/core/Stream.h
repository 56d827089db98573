#pragma once
#include "Device.h"

namespace c10 {
using StreamId = int64_t;
class Stream final {
public:
  Device device() const noexcept;
  DeviceIndex device_index() const noexcept;
  StreamId id() const noexcept;
  void synchronize() const;
};
} // namespace c10
