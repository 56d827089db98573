// PyTorch's caching allocator is called by its class, which is that of the LibTorch for which this
// is compiled. Its headers include CUDA's, for which those of the toolkit suffice
// (runtime/cuda/toolkit).
#include "blocks.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include <c10/cuda/CUDACachingAllocator.h>

#include "c10_cuda.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/streams/stream_accesses.h"

namespace devsan::sim {
namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;
using c10::cuda::CUDACachingAllocator::TraceEntry;

// Those in use, by address.
struct Blocks {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> sizes;
  std::atomic<bool> are_followed{false};
  std::atomic<bool> are_unknown{false}; // another allocator is in its place
};

// Never destroyed, as the allocator.
Blocks &blocks() {
  static auto *all = new Blocks;
  return *all;
}

// Under the allocator's lock.
void see(const TraceEntry &entry) {
  const auto *address = reinterpret_cast<const void *>(entry.addr_);
  if (entry.action_ == TraceEntry::ALLOC) {
    {
      std::lock_guard lock(blocks().mutex);
      blocks().sizes[entry.addr_] = entry.size_;
    }
    const auto handle = static_cast<c10::StreamId>(reinterpret_cast<std::intptr_t>(entry.stream_));
    noteAllocation(
        address, entry.size_,
        c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kCUDA, entry.device_), handle));
  } else if (entry.action_ == TraceEntry::FREE_COMPLETED) {
    {
      std::lock_guard lock(blocks().mutex);
      blocks().sizes.erase(entry.addr_);
    }
    noteRelease(address);
  }
}

} // namespace

void followBlocks() {
  if (blocks().are_followed.load(std::memory_order_acquire))
    return;
  static auto *current =
      inC10Cuda<std::atomic<CUDAAllocator *>>("_ZN3c104cuda20CUDACachingAllocator9allocatorE");
  CUDAAllocator *allocator = current ? current->load() : nullptr;
  if (allocator == nullptr || !allocator->initialized() || blocks().are_followed.exchange(true))
    return;
  // The caller may be C.
  try {
    allocator->attachAllocatorTraceTracker(see);
    for (const auto &segment : allocator->snapshot().segments) {
      std::uintptr_t address = segment.address;
      for (const auto &block : segment.blocks) {
        std::lock_guard lock(blocks().mutex);
        if (block.allocated)
          blocks().sizes.try_emplace(address, block.size);
        address += block.size;
      }
    }
  } catch (const std::exception &) {
    blocks().are_unknown.store(true);
  }
}

// A device address where no block is known is taken for its beginning. Of an allocator that does
// not tell, nothing is known: its memory could be given out again unseen.
const void *blockAround(const void *address) {
  followBlocks();
  if (blocks().are_unknown.load(std::memory_order_relaxed))
    return nullptr;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::lock_guard lock(blocks().mutex);
  auto next = blocks().sizes.upper_bound(at);
  if (next != blocks().sizes.begin())
    if (auto block = std::prev(next); at - block->first < block->second)
      return reinterpret_cast<const void *>(block->first);
  return isDeviceAddress(address) ? address : nullptr;
}

} // namespace devsan::sim
