// Stands for LibTorch's header of the same name in programs without a CUDA toolkit: see
// CUDAStream.h.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace c10::cuda {

// 0 where the process has no CUDA devices, not even simulated ones.
inline DeviceIndex device_count() noexcept {
  return impl::hasDeviceGuardImpl(DeviceType::CUDA)
             ? impl::VirtualGuardImpl(DeviceType::CUDA).deviceCount()
             : DeviceIndex{0};
}
inline DeviceIndex device_count_ensure_non_zero() {
  TORCH_CHECK(device_count() > 0, "No CUDA GPUs are available");
  return device_count();
}
inline DeviceIndex current_device() {
  return impl::VirtualGuardImpl(DeviceType::CUDA).getDevice().index();
}
inline void set_device(DeviceIndex index, const bool /*force*/ = false) {
  impl::VirtualGuardImpl(DeviceType::CUDA).setDevice({DeviceType::CUDA, index});
}
inline void device_synchronize() {
  impl::VirtualGuardImpl(DeviceType::CUDA).synchronizeDevice(current_device());
}

} // namespace c10::cuda
