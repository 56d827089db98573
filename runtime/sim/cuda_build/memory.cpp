// Memory of a CUDA build: blocks are its own caching allocator's, over the driver's stand-in, which
// maps them a second time for kernels.
#include "runtime/sim/memory/memory.h"

#include <ATen/detail/CUDAHooksInterface.h>

#include "driver.h"
#include "runtime/sim/memory/kernel_allocator.h"
#include "runtime/sim/memory/place.h"
#include "runtime/sim/memory/protection.h"

namespace devsan::sim {

c10::Allocator *deviceAllocator() {
  static c10::Allocator *allocator = at::detail::getCUDAHooks().getCUDADeviceAllocator();
  return allocator;
}

void *takeBlock(std::size_t bytes, c10::DeviceIndex) {
  return deviceAllocator()->allocate(bytes).release_context();
}
void releaseBlock(void *address) {
  if (address != nullptr)
    deviceAllocator()->raw_deleter()(deviceAddress(address));
}

// A fork leaves a child nothing of the driver's memory, and PyTorch itself refuses to use it there.
bool memoryBelongsToParent() {
  return false;
}

void relabelBlock(c10::DataPtr &data, c10::Device device) {
  void *address = data.release_context();
  if (address != nullptr)
    address = deviceAddress(address);
  data = c10::DataPtr(address, address, deviceAllocator()->raw_deleter(), device);
}

// Blocks are known to PyTorch alone; the driver knows what they were cut from.
std::optional<BlockPlace> placeOf(const void *address) {
  const void *begin = nullptr;
  std::size_t size = 0;
  if (!driverMemory().find(address, &begin, &size))
    return std::nullopt;
  return BlockPlace{static_cast<const char *>(begin), size, false};
}

void checkMemory() {
  closeOpenPages();
}

} // namespace devsan::sim
