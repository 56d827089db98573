#pragma once
#include "Device.h"
#include "Stream.h"

#include <optional>

namespace c10 {

class DeviceGuard {
public:
  explicit DeviceGuard() = delete;
  explicit DeviceGuard(Device device);
  DeviceGuard(const DeviceGuard &) = delete;
  ~DeviceGuard();
  void reset_device(Device device);
  void set_index(DeviceIndex index);
  Device original_device() const;
  Device current_device() const;
};

class OptionalDeviceGuard {
public:
  explicit OptionalDeviceGuard();
  explicit OptionalDeviceGuard(Device device);
  explicit OptionalDeviceGuard(std::optional<Device> device);
  OptionalDeviceGuard(const OptionalDeviceGuard &) = delete;
  ~OptionalDeviceGuard();
  void reset_device(Device device);
};

struct StreamGuard {
  explicit StreamGuard() = delete;
  explicit StreamGuard(Stream stream);
  StreamGuard(const StreamGuard &) = delete;
  ~StreamGuard();
  void reset_stream(Stream stream);
};

struct OptionalStreamGuard {
  explicit OptionalStreamGuard();
  explicit OptionalStreamGuard(Stream stream);
  ~OptionalStreamGuard();
  void reset_stream(Stream stream);
};

} // namespace c10

namespace at {
using c10::DeviceGuard;
using c10::OptionalDeviceGuard;
using c10::OptionalStreamGuard;
using c10::StreamGuard;

class Tensor;
class TensorBase;
std::optional<Device> device_of(const Tensor &t);
} // namespace at
