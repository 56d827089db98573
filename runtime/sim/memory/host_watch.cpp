#include "host_watch.h"

#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>
#include <vector>

#include "../memory.h"
#include "../observers.h"
#include "../stream_accesses.h"
#include "fork_locks.h"
#include "pinned.h"
#include "protection.h"
#include "settings.h"

namespace devsan::sim {
namespace {

std::atomic<DevSanEarlyAccessObserver> observer{nullptr};

struct Watch {
  std::uintptr_t begin, end; // whole pages
  std::size_t bytes;         // of the copy
  c10::Stream stream;
  std::uint64_t place;
};

struct Watches {
  Watches() { holdOverForks(mutex); }

  std::mutex mutex;
  std::vector<Watch> all;
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

void closeToHostUntilArrival(const void *begin, std::size_t bytes, c10::Stream stream) {
  if (!protectionWanted())
    return;
  auto [first, last] = wholePinnedPages(begin, bytes);
  if (first >= last)
    return;
  Watch watch{first, last, bytes, stream, currentPlace()};
  std::lock_guard lock(watches().mutex);
  include(first, last);
  known_open.store(0);
  if (mprotect(reinterpret_cast<void *>(first), last - first, PROT_NONE) == 0)
    watches().all.push_back(watch);
}

void openForArrival(const void *begin, std::size_t bytes) {
  auto from = reinterpret_cast<std::uintptr_t>(begin);
  std::lock_guard lock(watches().mutex);
  std::erase_if(watches().all, [&](const Watch &watch) {
    if (watch.begin >= from + bytes || from >= watch.end)
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
  if (DevSanEarlyAccessObserver observe = observer.load(std::memory_order_acquire))
    observe(&access);
  else
    say(access);
}

} // namespace devsan::sim

void devsan_sim_set_early_access_observer(DevSanEarlyAccessObserver observer) {
  devsan::sim::observer.store(observer, std::memory_order_release);
}
