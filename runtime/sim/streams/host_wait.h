// The places where CUDA's host code waits for a device. Every part of the simulator that stands for
// such a place calls this, before it reads what the device wrote.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/FunctionRef.h>

namespace devsan::sim {

// The host waits until the current stream of device `index` has done its work, as
// c10::cuda::stream_synchronize after a copy to the host.
void waitForCurrentStream(c10::DeviceIndex index);

// cudaDeviceSynchronize, as programs call it: with what a collective still does on the device.
void waitForDevice(c10::DeviceIndex index);

// In a barrier of NCCL: `arrive` waits for the other ranks.
void waitInBarrier(c10::DeviceIndex index, c10::function_ref<void()> arrive);

} // namespace devsan::sim
