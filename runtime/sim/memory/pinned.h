// Page-locked host memory: ordinary host memory whose addresses are known, so that is_pinned() and
// copies can tell. Any thread.
#pragma once

#include <map>
#include <mutex>

#include <c10/core/Allocator.h>

namespace devsan::sim {

class PinnedAllocator final : public c10::Allocator {
public:
  // What `deleter` of its blocks is; `release` finds this object again.
  PinnedAllocator(c10::Allocator *host, c10::DeleterFnPtr deleter)
      : host_(host), deleter_(deleter) {}

  c10::DataPtr allocate(std::size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override { return deleter_; }
  void copy_data(void *to, const void *from, std::size_t bytes) const override;

  void release(void *start);
  bool holds(const void *data);

private:
  struct Range {
    const void *end;
    c10::DeleterFnPtr host_deleter;
  };

  c10::Allocator *host_;
  c10::DeleterFnPtr deleter_;
  std::mutex mutex_;
  std::map<const void *, Range> ranges_;
};

} // namespace devsan::sim
