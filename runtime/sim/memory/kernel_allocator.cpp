#include "kernel_allocator.h"

#include <cstring>
#include <dlfcn.h>

#include <c10/core/CPUAllocator.h>

#include "memory.h"
#include "protection.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/devices/generators.h"

namespace devsan::sim {

std::atomic<bool> memory_needs_check{false};

namespace {

thread_local RunningKernel running;

constexpr std::size_t kLargestNumber = 16; // bytes, of a complex double

void releaseNumber(void *address) {
  hostAllocator()->raw_deallocate(address);
}

class KernelAllocator final : public c10::Allocator {
public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (running.device < 0)
      return host_->allocate(bytes);
    if (running.takes_numbers && bytes - 1 < kLargestNumber) {
      void *address = host_->raw_allocate(bytes);
      return {address, address, &releaseNumber, c10::Device(c10::kCPU)};
    }
    void *address = bytes == 0 ? nullptr : kernelAddress(takeBlock(bytes, running.device));
    return {address, address, &releaseBlock, c10::Device(c10::kCPU)};
  }
  // oneDNN takes memory raw, and keeps some of it beyond the kernel.
  c10::DeleterFnPtr raw_deleter() const override {
    return [](void *address) {
      if (isDeviceAddress(deviceAddress(address)))
        releaseBlock(address);
      else
        hostAllocator()->raw_deallocate(address);
    };
  }
  bool is_simple_data_ptr(const c10::DataPtr &data) const override {
    return data.get_deleter() == &releaseBlock || data.get_deleter() == &releaseNumber ||
           host_->is_simple_data_ptr(data);
  }
  void copy_data(void *to, const void *from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

private:
  c10::Allocator *host_ = hostAllocator();
};

// Never destroyed: tensors of static storage duration outlive this library's.
KernelAllocator &allocator() {
  static auto *allocator = new KernelAllocator;
  return *allocator;
}

const bool allocator_registered = [] {
  c10::SetAllocator(c10::kCPU, &allocator());
  return true;
}();

} // namespace

c10::Allocator *hostAllocator() {
  static c10::Allocator *host = c10::GetCPUAllocator();
  return host;
}
c10::Allocator *kernelAllocator() {
  return &allocator();
}
bool insideKernel() {
  if (running.device >= 0)
    return true;
  // A host implementation of the program's own kernel (runtime/cuda/standin/kernels.c).
  auto running = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "devsan_standin_in_host_kernel"));
  return running != nullptr && running() != 0;
}

bool ownsDeviceBlock(const c10::DataPtr &data) {
  return data.get() != nullptr && data.get_deleter() == &releaseBlock &&
         data.get() == data.get_context();
}

void takeFromHost(c10::StorageImpl &result, c10::DeviceIndex device) {
  c10::DataPtr &data = result._mutable_data_ptr_no_checks();
  if (C10_LIKELY(data.get_deleter() != &releaseNumber || data.get() == nullptr))
    return;
  CurrentDeviceScope current(device);
  void *block = kernelAddress(takeBlock(result.nbytes(), device));
  std::memcpy(block, data.get(), result.nbytes());
  result.set_data_ptr_noswap({block, block, &releaseBlock, c10::Device(c10::kCPU)});
}

void materialize(c10::StorageImpl &storage) {
  if (C10_LIKELY(!isCopyOnWrite(storage)))
    return;
  // ATen takes the new memory on the current device.
  std::optional<CurrentDeviceScope> current;
  if (storage.device().is_cuda())
    current.emplace(storage.device().index());
  storage.mutable_data_ptr();
}

KernelScope::KernelScope(c10::DeviceIndex index, bool takes_numbers) : previous_(running) {
  checkMemoryIfNeeded();
  running = {index, takes_numbers};
}
KernelScope::~KernelScope() {
  running = previous_;
  moveDrawnGeneratorsOn();
}

} // namespace devsan::sim
