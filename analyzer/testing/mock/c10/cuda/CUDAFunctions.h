#pragma once
#include <c10/core/Device.h>
#include <cuda_runtime_api.h>

namespace c10::cuda {
DeviceIndex device_count() noexcept;
DeviceIndex current_device();
void set_device(DeviceIndex device);
void device_synchronize();
cudaError_t GetDevice(DeviceIndex *device);
cudaError_t SetDevice(DeviceIndex device, const bool force = false);
cudaError_t MaybeSetDevice(DeviceIndex device);
DeviceIndex ExchangeDevice(DeviceIndex to_device);
DeviceIndex MaybeExchangeDevice(DeviceIndex to_device);
void stream_synchronize(cudaStream_t stream);
} // namespace c10::cuda
