// Memory of the simulated devices. A block is host memory with a header in front that says which
// device it belongs to, so that statistics per device are exact and a device storage finds its CPU
// twin (see tensor_alias.h) without a map.
//
// A CPU kernel that computes for a device allocates its results through LibTorch's CPU allocator.
// While a KernelScope is open on the thread, that allocator hands out device blocks: a result then
// becomes a device tensor by relabelling it, with no copy and no second allocation.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

namespace devsan::sim {

// Allocates on the current device, and keeps its statistics.
c10::Allocator *deviceAllocator();
// Page-locked host memory: host memory that isPinned() knows.
c10::Allocator *pinnedAllocator();
bool isPinned(const void *data);

// Whether the storage's memory is a device block that can be relabelled.
bool ownsDeviceBlock(const c10::DataPtr &data);

// The CPU storage over the same memory as `storage`, made once per block. nullptr where the
// storage's memory is no device block (it is empty, or belongs to somebody else).
c10::StorageImpl *cachedCpuTwin(c10::StorageImpl &storage);

// The allocator that CPU tensors made inside kernels have; also resizes them.
c10::Allocator *kernelAllocator();

class KernelScope {
public:
  explicit KernelScope(c10::DeviceIndex index);
  ~KernelScope();
  KernelScope(const KernelScope &) = delete;
  KernelScope &operator=(const KernelScope &) = delete;

private:
  c10::DeviceIndex previous_;
};

} // namespace devsan::sim
