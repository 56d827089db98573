// Page-locked host memory: ordinary host memory whose addresses are known, so that is_pinned() and
// copies can tell. With protection a block has its pages for itself, as on CUDA, so that they can
// be closed (host_watch.h). Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <c10/core/Allocator.h>

#include "fork_locks.h"

namespace devsan::sim {

class PinnedAllocator final : public c10::Allocator {
public:
  // What `deleter` of its blocks is; `release` finds this object again.
  PinnedAllocator(c10::Allocator *host, c10::DeleterFnPtr deleter)
      : host_(host), deleter_(deleter) {
    holdOverForks(mutex_);
  }

  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return deleter_; }
  void copy_data(void *to, const void *from, std::size_t bytes) const override;

  void release(void *start);
  bool holds(const void *data);
  // The whole pages of a range in a block that has its pages for itself; else begin = end.
  std::pair<std::uintptr_t, std::uintptr_t> wholePages(const void *data, std::size_t bytes);

private:
  struct Range {
    const void *end;
    c10::DeleterFnPtr host_deleter;
    bool own_pages = false;
  };

  c10::Allocator *host_;
  c10::DeleterFnPtr deleter_;
  std::mutex mutex_;
  std::map<const void *, Range> ranges_;
};

// Of the simulator's pinned allocator.
std::pair<std::uintptr_t, std::uintptr_t> wholePinnedPages(const void *data, std::size_t bytes);

} // namespace devsan::sim
