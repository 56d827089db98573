// LibTorch's allocators on the blocks of the simulated devices.
#include "runtime/sim/memory/memory.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "caching_allocator.h"
#include "pinned.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/kernel_allocator.h"
#include "runtime/sim/memory/protection.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/pending_copies.h"
#include "runtime/sim/streams/stream_accesses.h"

namespace devsan::sim {
namespace {

constexpr int kInitializationError = 3; // cudaErrorInitializationError

// In a child that was forked after the arena was made: its blocks are the parent's.
bool memory_is_the_parents = false;

// Of a device or kernel address; contexts are addresses.
Block &blockAt(void *address) {
  return *blockBeginningAt(deviceAddress(address));
}

// As PyTorch reads it: any value switches caching off.
bool cachingIsOff() {
  static const bool off = std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING") != nullptr;
  return off;
}

std::atomic<bool> caching_enabled{true};

class DeviceAllocator final : public c10::DeviceAllocator {
public:
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {
    for (c10::DeviceIndex i = 0; i < deviceCount(); ++i)
      deviceMemory(i).emptyCache();
  }
  void recordStream(const c10::DataPtr &data, c10::Stream stream) override {
    if (ownsDeviceBlock(data)) {
      Block &block = blockAt(data.get_context());
      deviceMemory(block.segment->device).recordStream(&block, originalStream(stream));
      noteRecordedStream(block.data, stream);
    }
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
    checkDeviceIndex(index);
    return deviceMemory(index).stats();
  }
  void resetAccumulatedStats(c10::DeviceIndex index) override {
    checkDeviceIndex(index);
    deviceMemory(index).resetAccumulatedStats();
  }
  void resetPeakStats(c10::DeviceIndex index) override {
    checkDeviceIndex(index);
    deviceMemory(index).resetPeakStats();
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex index) override {
    return deviceMemory(withIndex({c10::kCUDA, index}).index()).info();
  }
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::Device device(c10::kCUDA, currentDevice());
    if (bytes == 0)
      return {nullptr, nullptr, &releaseBlock, device};
    void *address = takeBlock(bytes, device.index());
    return {address, address, &releaseBlock, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &releaseBlock; }
  void copy_data(void *to, const void *from, std::size_t bytes) const override {
    finishCopiesTo(from);
    std::memcpy(kernelAddress(to), kernelAddress(from), bytes);
  }
};

void releasePinned(void *start);

// Made when the library is loaded, never destroyed: tensors of static storage duration outlive this
// library's.
struct Allocators {
  DeviceAllocator device;
  PinnedAllocator pinned{hostAllocator(), &releasePinned};
};
Allocators &allocators() {
  static auto *all = new Allocators;
  return *all;
}

void releasePinned(void *start) {
  allocators().pinned.release(start);
}

void forgetDeviceMemory() {
  if (arena_layout.size == 0)
    return;
  memory_is_the_parents = true;
  memory_needs_check.store(true, std::memory_order_relaxed);
}

const bool memory_registered = [] {
  c10::SetAllocator(c10::kCUDA, &allocators().device);
  at::setHostAllocator(c10::kCUDA, &allocators().pinned);
  pthread_atfork(nullptr, nullptr, forgetDeviceMemory);
  return true;
}();

} // namespace

void *takeBlock(std::size_t bytes, c10::DeviceIndex index) {
  checkMemoryIfNeeded();
  bool cached = caching_enabled.load(std::memory_order_relaxed) && !cachingIsOff();
  const c10::Stream stream = currentStream(index);
  Block *block = deviceMemory(index).allocate(
      bytes, {originalStream(stream).id(), mempoolFor(stream)}, cached);
  if (C10_UNLIKELY(areAccessesNoted())) {
    noteAllocation(block->data, block->size, stream);
    tellWhatWasGivenOut();
  }
  return block->data;
}

void releaseBlock(void *address) {
  if (address == nullptr || C10_UNLIKELY(memory_is_the_parents))
    return;
  Block *block = &blockAt(address);
  dropCopiesTo(block->data);
  if (C10_UNLIKELY(areAccessesNoted()))
    noteRelease(block->data);
  deviceMemory(block->segment->device).free(block);
}

c10::Allocator *deviceAllocator() {
  return &allocators().device;
}
void recordStream(const c10::DataPtr &data, c10::Stream stream) {
  allocators().device.recordStream(data, stream);
}
c10::Allocator *pinnedAllocator() {
  return &allocators().pinned;
}
bool isPinned(const void *data) {
  return allocators().pinned.holds(data);
}
std::pair<std::uintptr_t, std::uintptr_t> wholePinnedPages(const void *data, std::size_t bytes) {
  return allocators().pinned.wholePages(data, bytes);
}
bool memoryBelongsToParent() {
  return memory_is_the_parents;
}
void enableCaching(bool enabled) {
  caching_enabled = enabled;
}
bool cachingIsEnabled() {
  return caching_enabled;
}

bool isAllocatedBlock(const void *address) {
  const Block *block = blockBeginningAt(address);
  return block != nullptr && block->data == address && block->allocated;
}

const void *blockAround(const void *address) {
  if (!isDeviceAddress(address))
    return nullptr;
  if (C10_LIKELY(isAllocatedBlock(address)))
    return address;
  auto place = deviceMemory(deviceOfAddress(address)).placeOf(address);
  return place && !place->freed ? place->begin : nullptr;
}

std::optional<BlockPlace> placeOf(const void *address) {
  return deviceMemory(deviceOfAddress(address)).placeOf(address);
}

void relabelBlock(c10::DataPtr &data, c10::Device device) {
  void *address = data.release_context();
  if (address != nullptr)
    address = device.is_cpu() ? kernelAddress(address) : deviceAddress(address);
  data = c10::DataPtr(address, address, &releaseBlock, device);
}

void resizeDeviceStorage(c10::StorageImpl &storage, std::size_t bytes) {
  TORCH_CHECK(storage.resizable(), "Trying to resize storage that is not resizable");
  finishCopiesTo(&storage);
  materialize(storage);
  CurrentDeviceScope current(storage.device().index());
  c10::DataPtr data = deviceAllocator()->allocate(bytes);
  std::size_t kept = std::min(bytes, storage.nbytes());
  const c10::DataPtr &old = storage._mutable_data_ptr_no_checks();
  if (kept != 0 && old.get() != nullptr)
    std::memcpy(kernelAddress(data.get()), kernelAddress(old.get()), kept);
  storage.set_data_ptr_noswap(std::move(data));
  storage.set_nbytes(bytes);
}

void checkMemory() {
  if (memory_is_the_parents)
    throw c10::AcceleratorError(
        {__func__, __FILE__, __LINE__}, kInitializationError,
        "CUDA error: initialization error\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be incorrect.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n");
  closeOpenPages();
}

} // namespace devsan::sim
