#include "runtime/log/fork_gate.h"

#include <atomic>
#include <ctime>
#include <sched.h>

namespace devsan::runtime {
namespace {

std::atomic<int> inside{0};
std::atomic<bool> is_shut{false};
thread_local int depth = 0;
// Other libraries' fork handlers run while the gate is shut, on this thread, and may call
// operators.
thread_local bool is_forking = false;
bool was_empty = true;

// A thread that is inside may wait for an allocator whose own fork handler has run before ours.
// Counted is the time for which this thread ran, yielding: where many threads want few processors,
// one that is inside gets as much, and leaves within microseconds of it.
constexpr std::time_t kMaxWaitSeconds = 1;

timespec now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time;
}

bool isOver(const timespec &begin) {
  timespec time = now();
  return time.tv_sec - begin.tv_sec > kMaxWaitSeconds ||
         (time.tv_sec - begin.tv_sec == kMaxWaitSeconds && time.tv_nsec >= begin.tv_nsec);
}

} // namespace

InsideForkGate::InsideForkGate() {
  if (depth++ > 0 || is_forking)
    return;
  // Counted first, looked second, and the fork the other way round: one of the two sees the other.
  inside.fetch_add(1);
  while (is_shut.load()) {
    inside.fetch_sub(1);
    while (is_shut.load())
      sched_yield();
    inside.fetch_add(1);
  }
}

InsideForkGate::~InsideForkGate() {
  if (--depth == 0 && !is_forking)
    inside.fetch_sub(1, std::memory_order_release);
}

void shutForkGate() {
  // One fork at a time: glibc runs the handlers of several forks side by side.
  const timespec begin = now();
  while (is_shut.exchange(true) && !isOver(begin))
    sched_yield();
  // A signal handler may fork while its own thread is inside.
  const int own = depth > 0 ? 1 : 0;
  while (inside.load() > own && !isOver(begin))
    sched_yield();
  was_empty = inside.load() == 0;
  is_forking = true;
}

void reopenForkGateInParent() {
  is_forking = false;
  is_shut.store(false);
}

bool reopenForkGateInChild() {
  is_forking = false;
  inside.store(depth > 0 ? 1 : 0);
  is_shut.store(false);
  return was_empty;
}

} // namespace devsan::runtime
