// The CPU allocator while the simulator is loaded: kernels that compute for a device get its blocks
// from it, everybody else what was there before. Which blocks, each build says: device_memory.cpp
// has its own, cuda_build/memory.cpp PyTorch's.
#pragma once

#include <cstddef>

#include <c10/core/Allocator.h>

namespace devsan::sim {

// A block on the device, which is current, at its device address.
void *takeBlock(std::size_t bytes, c10::DeviceIndex index);
// The deleter of what kernels allocate: at its device or kernel address, or nullptr.
void releaseBlock(void *address);

// The CPU allocator that was there before.
c10::Allocator *hostAllocator();

} // namespace devsan::sim
