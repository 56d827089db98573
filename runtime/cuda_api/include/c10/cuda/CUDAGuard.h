// Stands for LibTorch's header of the same name in programs without a CUDA toolkit: see
// CUDAStream.h.
#pragma once

#include <optional>

#include <c10/core/impl/InlineDeviceGuard.h>
#include <c10/core/impl/InlineStreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDAStream.h>

namespace c10::cuda {

struct CUDAGuard {
  explicit CUDAGuard() = delete;
  explicit CUDAGuard(DeviceIndex index) : guard_(Device(DeviceType::CUDA, index)) {}
  explicit CUDAGuard(Device device) : guard_(checked(device)) {}
  CUDAGuard(const CUDAGuard &) = delete;
  CUDAGuard &operator=(const CUDAGuard &) = delete;

  void set_device(Device device) { guard_.reset_device(checked(device)); }
  void reset_device(Device device) { guard_.reset_device(checked(device)); }
  void set_index(DeviceIndex index) { guard_.set_index(index); }
  Device original_device() const { return guard_.original_device(); }
  Device current_device() const { return guard_.current_device(); }

private:
  static Device checked(Device device) {
    TORCH_CHECK(device.is_cuda(), "CUDAGuard: expected a CUDA device, but got ", device);
    return device;
  }
  impl::InlineDeviceGuard<impl::VirtualGuardImpl> guard_;
};

struct OptionalCUDAGuard {
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) {
    if (device)
      set_device(*device);
  }
  explicit OptionalCUDAGuard(std::optional<DeviceIndex> index) {
    if (index)
      set_index(*index);
  }
  OptionalCUDAGuard(const OptionalCUDAGuard &) = delete;
  OptionalCUDAGuard &operator=(const OptionalCUDAGuard &) = delete;

  void set_device(Device device) {
    if (guard_)
      guard_->set_device(device);
    else
      guard_.emplace(device);
  }
  void set_index(DeviceIndex index) { set_device(Device(DeviceType::CUDA, index)); }
  void reset() { guard_.reset(); }
  std::optional<Device> original_device() const {
    return guard_ ? std::make_optional(guard_->original_device()) : std::nullopt;
  }
  std::optional<Device> current_device() const {
    return guard_ ? std::make_optional(guard_->current_device()) : std::nullopt;
  }

private:
  std::optional<CUDAGuard> guard_;
};

struct CUDAStreamGuard {
  explicit CUDAStreamGuard() = delete;
  explicit CUDAStreamGuard(Stream stream) : guard_(stream) {}
  CUDAStreamGuard(const CUDAStreamGuard &) = delete;
  CUDAStreamGuard &operator=(const CUDAStreamGuard &) = delete;

  void reset_stream(Stream stream) { guard_.reset_stream(stream); }
  CUDAStream original_stream() const { return CUDAStream(guard_.original_stream()); }
  CUDAStream current_stream() const { return CUDAStream(guard_.current_stream()); }
  Device current_device() const { return guard_.current_device(); }
  Device original_device() const { return guard_.original_device(); }

private:
  impl::InlineStreamGuard<impl::VirtualGuardImpl> guard_;
};

} // namespace c10::cuda
