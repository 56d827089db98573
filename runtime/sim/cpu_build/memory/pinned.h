// Page-locked host memory: ordinary host memory whose addresses are known, so that is_pinned() and
// copies can tell. With protection a block has its pages for itself, as on CUDA, so that they can
// be closed (host_watch.h). As LibTorch's for CUDA it keeps what is freed for the next request of
// that size, rounded up to a power of two. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/Allocator.h>

#include "runtime/sim/memory/fork_locks.h"

namespace devsan::sim {

class PinnedAllocator final : public at::HostAllocator {
public:
  // What `deleter` of its blocks is; `release` finds this object again.
  PinnedAllocator(c10::Allocator *host, c10::DeleterFnPtr deleter)
      : host_(host), deleter_(deleter) {
    holdOverForks(mutex_);
  }

  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return deleter_; }
  void copy_data(void *to, const void *from, std::size_t bytes) const override;

  // Copies are known without it, and no other work of a simulated device lasts. False where neither
  // the context nor the address is a block's.
  bool record_event(void *address, void *context, c10::Stream stream) override;
  void empty_cache() override;
  at::HostStats get_stats() override;
  void reset_accumulated_stats() override;
  void reset_peak_stats() override;

  void release(void *start);
  bool holds(const void *data);
  // The whole pages of a range in a block that has its pages for itself; else begin = end.
  std::pair<std::uintptr_t, std::uintptr_t> wholePages(const void *data, std::size_t bytes);

private:
  struct Block {
    const void *end; // of what was asked for; the beginning of a free block
    std::size_t size;
    c10::DeleterFnPtr host_deleter;
    bool own_pages;
  };

  void *takeFree(std::size_t bytes, std::size_t size);
  void noteTaken(const Block &block, bool is_new);

  c10::Allocator *host_;
  c10::DeleterFnPtr deleter_;
  std::mutex mutex_;
  std::map<const void *, Block> blocks_;
  std::multimap<std::size_t, void *> free_; // by size
  at::HostStats stats_;
};

// Of the simulator's pinned allocator.
std::pair<std::uintptr_t, std::uintptr_t> wholePinnedPages(const void *data, std::size_t bytes);

} // namespace devsan::sim
