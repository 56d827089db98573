// Memory of a CUDA build: blocks are its own caching allocator's, over the driver's stand-in, which
// maps them a second time for kernels. The allocator of CPU tensors hands them out inside kernels,
// so that results become device tensors without a copy.
#include "runtime/sim/memory/memory.h"

#include <algorithm>
#include <cstring>

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CPUAllocator.h>

#include "drawn.h"
#include "driver.h"
#include "runtime/sim/memory/place.h"
#include "runtime/sim/memory/protection.h"

namespace devsan::sim {

std::atomic<bool> memory_needs_attention{false};

namespace {

c10::Allocator *cudaAllocator() {
  static c10::Allocator *allocator = at::detail::getCUDAHooks().getCUDADeviceAllocator();
  return allocator;
}

thread_local c10::DeviceIndex kernel_device = -1;

// Of a block at its kernel address.
void releaseBlock(void *address) {
  if (address != nullptr)
    cudaAllocator()->raw_deleter()(deviceAddress(address));
}

// Takes the place of the CPU allocator; outside kernels it is the one that was there.
class KernelAllocator final : public c10::Allocator {
public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (kernel_device < 0)
      return host_->allocate(bytes);
    if (bytes == 0)
      return {nullptr, nullptr, &releaseBlock, c10::Device(c10::kCPU)};
    c10::DataPtr block = cudaAllocator()->allocate(bytes);
    void *address = kernelAddress(block.release_context());
    return {address, address, &releaseBlock, c10::Device(c10::kCPU)};
  }
  // oneDNN takes memory raw, and keeps some of it beyond the kernel.
  c10::DeleterFnPtr raw_deleter() const override;
  bool is_simple_data_ptr(const c10::DataPtr &data) const override {
    return data.get_deleter() == &releaseBlock || host_->is_simple_data_ptr(data);
  }
  void releaseRaw(void *address) {
    if (isDeviceAddress(deviceAddress(address)))
      releaseBlock(address);
    else
      host_->raw_deallocate(address);
  }
  void copy_data(void *to, const void *from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

private:
  c10::Allocator *host_ = c10::GetCPUAllocator();
};

// Never destroyed: tensors of static storage duration outlive this library's.
KernelAllocator &allocator() {
  static auto *allocator = new KernelAllocator;
  return *allocator;
}

c10::DeleterFnPtr KernelAllocator::raw_deleter() const {
  return [](void *address) { allocator().releaseRaw(address); };
}

const bool registered = [] {
  c10::SetAllocator(c10::kCPU, &allocator());
  return true;
}();

} // namespace

c10::DeviceAllocator *deviceAllocator() {
  static auto *allocator = dynamic_cast<c10::DeviceAllocator *>(cudaAllocator());
  TORCH_CHECK(allocator != nullptr, "not simulated: the CUDA allocator of this LibTorch");
  return allocator;
}
c10::Allocator *kernelAllocator() {
  return &allocator();
}
bool insideKernel() {
  return kernel_device >= 0;
}
// A fork leaves a child nothing of the driver's memory, and PyTorch itself refuses to use it there.
bool memoryIsTheParents() {
  return false;
}

bool ownsDeviceBlock(const c10::DataPtr &data) {
  return data.get() != nullptr && data.get_deleter() == &releaseBlock &&
         data.get() == data.get_context();
}

void relabelBlock(c10::DataPtr &data, c10::Device device) {
  void *address = data.release_context();
  if (address != nullptr)
    address = deviceAddress(address);
  data = c10::DataPtr(address, address, cudaAllocator()->raw_deleter(), device);
}

c10::StorageImpl *cachedCpuTwin(c10::StorageImpl &) {
  return nullptr;
}

// Blocks are known to PyTorch alone; the driver knows what they were cut from.
std::optional<BlockPlace> placeOf(const void *address) {
  const void *begin = nullptr;
  std::size_t size = 0;
  if (!driverMemory().find(address, &begin, &size))
    return std::nullopt;
  return BlockPlace{static_cast<const char *>(begin), size, false};
}

void attendToMemory() {
  closeOpenPages();
}

KernelScope::KernelScope(c10::DeviceIndex index) : previous_(kernel_device) {
  attendToMemoryIfNeeded();
  kernel_device = index;
}
KernelScope::~KernelScope() {
  kernel_device = previous_;
  moveDrawnGeneratorsOn();
}

} // namespace devsan::sim
