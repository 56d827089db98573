// Memory of the simulated devices: what the rest of the simulator needs of memory/. A device
// tensor's storage holds a device address; the CPU kernels that compute for the device reach the
// same memory at the kernel address (memory/arena.h).
//
// A CPU kernel that computes for a device allocates its results through LibTorch's CPU allocator.
// While a KernelScope is open on the thread, that allocator hands out device blocks at their kernel
// addresses: a result then becomes a device tensor by relabelling it, with no copy and no second
// allocation.
#pragma once

#include <atomic>

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/COW.h>
#include <c10/core/impl/COWDeleter.h>

#include "arena.h"

namespace devsan::sim {

// Allocates on the current device, and keeps its statistics.
c10::Allocator *deviceAllocator();
// The memory is not given out again before the stream has done what it has to do now.
void recordStream(const c10::DataPtr &data, c10::Stream stream);
// Page-locked host memory: host memory that isPinned() knows.
c10::Allocator *pinnedAllocator();
bool isPinned(const void *data);

// Whether the storage's memory is a device block that can be relabelled.
bool ownsDeviceBlock(const c10::DataPtr &data);

// Whether an allocated block begins at the device address.
bool isAllocatedBlock(const void *address);

// Where the allocated block begins that the address lies in; nullptr for other addresses.
const void *blockAround(const void *address);

// As torch.cuda.caching_allocator_enable sets it.
void enableCaching(bool enabled);
bool cachingIsEnabled();

// A result that a kernel left in the host's memory (KernelScope) gets a block on the device.
void takeFromHost(c10::StorageImpl &result, c10::DeviceIndex device);

// Labels a device block, or nothing at all, with `device` and the address that it uses: the kernel
// address for the CPU.
void relabelBlock(c10::DataPtr &data, c10::Device device);

// The allocator that CPU tensors made inside kernels have; also resizes them.
c10::Allocator *kernelAllocator();

// Whether others have the storage's memory, too, until the first of them writes to it
// (torch._lazy_clone).
inline bool isCopyOnWrite(c10::StorageImpl &storage) {
  return storage._mutable_data_ptr_no_checks().get_deleter() == &c10::impl::cow::cow_deleter;
}

// Gives a storage memory of its own where it is copy-on-write.
void materialize(c10::StorageImpl &storage);

// Gives a device storage a block of `bytes` with its content, as far as it fits; on the storage's
// device.
void resizeDeviceStorage(c10::StorageImpl &storage, std::size_t bytes);

// What every simulated operator asks before it runs: pages that the host opened are to be closed,
// or this process may not use devices. Both are rare; the flag says whether to look.
extern std::atomic<bool> memory_needs_check;
// Throws CUDA's error in a child that was forked from a process with device memory.
void checkMemory();
inline void checkMemoryIfNeeded() {
  if (C10_UNLIKELY(memory_needs_check.load(std::memory_order_relaxed)))
    checkMemory();
}

struct RunningKernel {
  c10::DeviceIndex device = -1;
  bool takes_numbers = false;
};

class KernelScope {
public:
  // A CPU kernel that is given a number (x * 2) converts it in memory of a few bytes, where a GPU's
  // has it among its arguments: with `takes_numbers` so little memory is the host's.
  explicit KernelScope(c10::DeviceIndex index, bool takes_numbers = false);
  ~KernelScope();
  KernelScope(const KernelScope &) = delete;
  KernelScope &operator=(const KernelScope &) = delete;

private:
  RunningKernel previous_;
};

} // namespace devsan::sim
