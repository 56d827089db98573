#include "runtime/sim/memory/host_watch.h"

#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>
#include <vector>

#include "pinned.h"
#include "runtime/sim/api/observers.h"
#include "runtime/sim/memory/fork_locks.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/memory/protection.h"
#include "runtime/sim/memory/settings.h"
#include "runtime/sim/streams/stream_accesses.h"

namespace devsan::sim {
namespace {

std::atomic<DevSanEarlyAccessObserver> early_observer{nullptr};

struct Watch {
  std::uint64_t number;
  std::uintptr_t begin, end; // whole pages
  std::size_t bytes;         // of the copy
  c10::Stream stream;
  std::uint64_t place;

  bool overlaps(const void *from, std::size_t length) const {
    auto at = reinterpret_cast<std::uintptr_t>(from);
    return begin < at + length && at < end;
  }
};

struct Watches {
  Watches() { holdOverForks(mutex); }

  std::mutex mutex;
  std::vector<Watch> all;
  std::uint64_t count = 0;
};
// Never destroyed: copies may arrive while the process ends.
Watches &watches() {
  static auto *one = new Watches;
  return *one;
}

// Around all that was ever closed; a handler must not lock.
std::atomic<std::uintptr_t> lowest{UINTPTR_MAX}, highest{0};

void include(std::uintptr_t begin, std::uintptr_t end) {
  if (begin < lowest.load(std::memory_order_relaxed))
    lowest.store(begin, std::memory_order_relaxed);
  if (end > highest.load(std::memory_order_relaxed))
    highest.store(end, std::memory_order_relaxed);
}

// An address that faulted where nothing is closed, until something is closed again: if it faults
// once more, the fault is the program's own, and not a page that another thread has just opened.
std::atomic<std::uintptr_t> known_open{0};

void open(const Watch &watch) {
  mprotect(reinterpret_cast<void *>(watch.begin), watch.end - watch.begin, PROT_READ | PROT_WRITE);
}

bool close(const Watch &watch) {
  known_open.store(0);
  return mprotect(reinterpret_cast<void *>(watch.begin), watch.end - watch.begin, PROT_NONE) == 0;
}

// Without an observer: once for each place in the program.
void say(const DevSanEarlyAccess &access) {
  static std::mutex mutex;
  static auto *said = new std::set<const void *>;
  {
    std::lock_guard lock(mutex);
    if (!said->insert(access.pc).second)
      return;
  }
  std::fprintf(stderr,
               "devsan: host code %s the destination of a non_blocking copy from cuda:%d before "
               "anything waited for it: synchronize the stream or an event first\n",
               access.kind == DEVSAN_SIM_WRITE ? "writes" : "reads", access.device);
}

} // namespace

std::uint64_t closeToHostUntilArrival(const void *begin, std::size_t bytes, c10::Stream stream) {
  if (!protectionWanted())
    return 0;
  auto [first, last] = wholePinnedPages(begin, bytes);
  if (first >= last)
    return 0;
  Watch watch{0, first, last, bytes, stream, currentPlace()};
  std::lock_guard lock(watches().mutex);
  include(first, last);
  if (!close(watch))
    return 0;
  watch.number = ++watches().count;
  watches().all.push_back(watch);
  return watch.number;
}

void openForArrival(const void *begin, std::size_t bytes, std::uint64_t number) {
  auto from = pageDown(reinterpret_cast<std::uintptr_t>(begin));
  auto to = pageUp(reinterpret_cast<std::uintptr_t>(begin) + bytes);
  bool closed = false;
  std::lock_guard lock(watches().mutex);
  std::erase_if(watches().all, [&](const Watch &watch) {
    closed |= watch.overlaps(begin, bytes);
    return watch.number == number;
  });
  if (closed)
    mprotect(reinterpret_cast<void *>(from), to - from, PROT_READ | PROT_WRITE);
}

void closeWhatIsAwaited(const void *begin, std::size_t bytes) {
  std::uintptr_t from = 0, to = 0; // closed already: programs reuse a buffer
  std::lock_guard lock(watches().mutex);
  for (const Watch &watch : watches().all) {
    if (!watch.overlaps(begin, bytes) || (from <= watch.begin && watch.end <= to))
      continue;
    close(watch);
    from = watch.begin;
    to = watch.end;
  }
}

void forgetWatches(const void *begin, std::size_t bytes) {
  std::lock_guard lock(watches().mutex);
  std::erase_if(watches().all, [&](const Watch &watch) {
    if (!watch.overlaps(begin, bytes))
      return false;
    open(watch);
    return true;
  });
}

bool mayBeClosed(const void *address) {
  auto at = reinterpret_cast<std::uintptr_t>(address);
  return at >= lowest.load(std::memory_order_relaxed) &&
         at < highest.load(std::memory_order_relaxed) && at != known_open.load();
}

void handleEarlyAccess(void *address, void *pc, int kind) {
  auto at = reinterpret_cast<std::uintptr_t>(address);
  std::vector<Watch> found;
  {
    std::lock_guard lock(watches().mutex);
    std::erase_if(watches().all, [&](const Watch &watch) {
      if (at < watch.begin || at >= watch.end)
        return false;
      open(watch);
      found.push_back(watch);
      return true;
    });
    if (found.empty())
      known_open.store(at);
  }
  if (found.empty())
    return; // the instruction runs again
  // A copy to a device reads it as the device would.
  if (insideKernel())
    return;
  const Watch &watch = found.back();
  DevSanEarlyAccess access{address,           pc,   watch.bytes, watch.stream.device_index(),
                           watch.stream.id(), kind, watch.place};
  if (DevSanEarlyAccessObserver observe = early_observer.load(std::memory_order_acquire))
    observe(&access);
  else
    say(access);
}

} // namespace devsan::sim

void devsan_sim_set_early_access_observer(DevSanEarlyAccessObserver observer) {
  devsan::sim::early_observer.store(observer, std::memory_order_release);
}
