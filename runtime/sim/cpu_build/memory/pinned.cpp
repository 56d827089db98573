#include "pinned.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/sim/memory/host_watch.h"
#include "runtime/sim/memory/settings.h"
#include "runtime/sim/streams/pending_copies.h"

namespace devsan::sim {

void *PinnedAllocator::takeFree(std::size_t bytes, std::size_t size) {
  auto found = free_.find(size);
  if (found == free_.end())
    return nullptr;
  void *start = found->second;
  free_.erase(found);
  Block &block = blocks_[start];
  block.end = static_cast<char *>(start) + bytes;
  noteTaken(block, false);
  return start;
}

void PinnedAllocator::noteTaken(const Block &block, bool is_new) {
  stats_.active_requests.increase(1);
  stats_.active_bytes.increase(block.size);
  if (!is_new)
    return;
  ++stats_.num_host_alloc;
  stats_.allocations.increase(1);
  stats_.allocated_bytes.increase(block.size);
  ++stats_.bucket_allocation[static_cast<std::size_t>(std::countr_zero(block.size))];
}

c10::DataPtr PinnedAllocator::allocate(std::size_t bytes) {
  if (bytes == 0)
    return {nullptr, nullptr, deleter_, c10::Device(c10::kCPU)};
  constexpr std::size_t kLargest = std::size_t{1} << 62;
  const std::size_t size = bytes > kLargest ? bytes : std::bit_ceil(bytes);
  std::unique_lock lock(mutex_);
  if (void *start = takeFree(bytes, size))
    return {start, start, deleter_, c10::Device(c10::kCPU)};
  lock.unlock();
  void *start = nullptr;
  Block block{nullptr, size, &std::free, true};
  if (!protectionWanted() || posix_memalign(&start, pageSize(), pageUp(size)) != 0) {
    c10::DataPtr data = host_->allocate(size);
    start = data.get();
    block.host_deleter = data.get_deleter();
    block.own_pages = false;
    (void)data.release_context();
  }
  block.end = static_cast<char *>(start) + bytes;
  lock.lock();
  blocks_[start] = block;
  noteTaken(block, true);
  return {start, start, deleter_, c10::Device(c10::kCPU)};
}

void PinnedAllocator::copy_data(void *to, const void *from, std::size_t bytes) const {
  std::memcpy(to, from, bytes);
}

bool PinnedAllocator::record_event(void *address, void *context, c10::Stream) {
  std::lock_guard lock(mutex_);
  return blocks_.contains(context) || blocks_.contains(address);
}

void PinnedAllocator::release(void *start) {
  std::unique_lock lock(mutex_);
  auto found = blocks_.find(start);
  if (found == blocks_.end())
    return;
  const auto bytes = static_cast<std::size_t>(static_cast<const char *>(found->second.end) -
                                              static_cast<char *>(start));
  lock.unlock();
  finishCopiesAround(start, bytes);
  forgetWatches(start, bytes);
  lock.lock();
  Block &block = found->second;
  block.end = start;
  free_.emplace(block.size, start);
  stats_.active_requests.decrease(1);
  stats_.active_bytes.decrease(block.size);
}

void PinnedAllocator::empty_cache() {
  std::vector<std::pair<void *, c10::DeleterFnPtr>> unused;
  {
    std::lock_guard lock(mutex_);
    for (const auto &[size, start] : free_) {
      unused.emplace_back(start, blocks_[start].host_deleter);
      blocks_.erase(start);
      ++stats_.num_host_free;
      stats_.allocations.decrease(1);
      stats_.allocated_bytes.decrease(size);
    }
    free_.clear();
  }
  for (auto [start, host_deleter] : unused)
    host_deleter(start);
}

at::HostStats PinnedAllocator::get_stats() {
  std::lock_guard lock(mutex_);
  return stats_;
}

void PinnedAllocator::reset_accumulated_stats() {
  std::lock_guard lock(mutex_);
  for (auto *stat : {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations,
                     &stats_.allocated_bytes})
    stat->reset_accumulated();
  stats_.num_host_alloc = stats_.num_host_free = 0;
}

void PinnedAllocator::reset_peak_stats() {
  std::lock_guard lock(mutex_);
  for (auto *stat : {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations,
                     &stats_.allocated_bytes})
    stat->reset_peak();
}

std::pair<std::uintptr_t, std::uintptr_t> PinnedAllocator::wholePages(const void *data,
                                                                      std::size_t bytes) {
  std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(data);
  if (after == blocks_.begin())
    return {};
  const Block &block = std::prev(after)->second;
  auto begin = reinterpret_cast<std::uintptr_t>(data), end = begin + bytes,
       block_end = reinterpret_cast<std::uintptr_t>(block.end);
  if (!block.own_pages || end > block_end)
    return {};
  return {pageUp(begin), end == block_end ? pageUp(end) : pageDown(end)};
}

bool PinnedAllocator::holds(const void *data) {
  std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(data);
  return after != blocks_.begin() && data < std::prev(after)->second.end;
}

} // namespace devsan::sim
