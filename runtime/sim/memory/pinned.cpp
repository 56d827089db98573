#include "pinned.h"

#include <cstdlib>
#include <cstring>

#include "host_watch.h"
#include "runtime/sim/streams/pending_copies.h"
#include "settings.h"

namespace devsan::sim {

c10::DataPtr PinnedAllocator::allocate(std::size_t bytes) {
  void *pages = nullptr;
  if (bytes != 0 && protectionWanted() && posix_memalign(&pages, pageSize(), pageUp(bytes)) == 0) {
    std::lock_guard lock(mutex_);
    ranges_[pages] = {static_cast<char *>(pages) + bytes, &std::free, true};
    return {pages, pages, deleter_, c10::Device(c10::kCPU)};
  }
  c10::DataPtr data = host_->allocate(bytes);
  void *start = data.get();
  if (start == nullptr)
    return data;
  std::lock_guard lock(mutex_);
  ranges_[start] = {static_cast<char *>(start) + bytes, data.get_deleter()};
  (void)data.release_context();
  return {start, start, deleter_, c10::Device(c10::kCPU)};
}

void PinnedAllocator::copy_data(void *to, const void *from, std::size_t bytes) const {
  std::memcpy(to, from, bytes);
}

void PinnedAllocator::release(void *start) {
  c10::DeleterFnPtr host_deleter = nullptr;
  std::size_t bytes = 0;
  {
    std::lock_guard lock(mutex_);
    auto range = ranges_.find(start);
    if (range == ranges_.end())
      return;
    host_deleter = range->second.host_deleter;
    bytes = static_cast<std::size_t>(static_cast<const char *>(range->second.end) -
                                     static_cast<char *>(start));
  }
  finishCopiesAround(start, bytes);
  forgetWatches(start, bytes);
  {
    std::lock_guard lock(mutex_);
    ranges_.erase(start);
  }
  host_deleter(start);
}

std::pair<std::uintptr_t, std::uintptr_t> PinnedAllocator::wholePages(const void *data,
                                                                      std::size_t bytes) {
  std::lock_guard lock(mutex_);
  auto after = ranges_.upper_bound(data);
  if (after == ranges_.begin())
    return {};
  const Range &range = std::prev(after)->second;
  auto begin = reinterpret_cast<std::uintptr_t>(data), end = begin + bytes,
       range_end = reinterpret_cast<std::uintptr_t>(range.end);
  if (!range.own_pages || end > range_end)
    return {};
  return {pageUp(begin), end == range_end ? pageUp(end) : pageDown(end)};
}

bool PinnedAllocator::holds(const void *data) {
  std::lock_guard lock(mutex_);
  auto after = ranges_.upper_bound(data);
  return after != ranges_.begin() && data < std::prev(after)->second.end;
}

} // namespace devsan::sim
