#include "runtime/hooks/observation.h"

#include "runtime/hooks/fork_gate.h"

#include <atomic>
#include <sched.h>

namespace devsan::runtime {
namespace {

constexpr unsigned kMaxInVain = 1 << 16;
// Operators of a thread that are still observed when no thread asks any more. A loop that copies to
// the host asks anew in every pass; each switch makes every thread take LibTorch's lock once, which
// a fork may find held.
constexpr unsigned kMaxUnasked = 256;

at::CallbackHandle handle = at::INVALID_CALLBACK_HANDLE;
std::atomic<int> observing_threads{0}; // changed under `busy`
std::atomic<bool> is_on{false};
std::atomic_flag busy = ATOMIC_FLAG_INIT;

// Inside the gate, because LibTorch's list of observers has a lock, which must not be held at fork.
class Switch {
public:
  Switch() {
    while (busy.test_and_set(std::memory_order_acquire))
      sched_yield();
  }
  ~Switch() { busy.clear(std::memory_order_release); }
  void turn(bool on) {
    if (handle == at::INVALID_CALLBACK_HANDLE || is_on.load(std::memory_order_relaxed) == on)
      return;
    on ? at::reenableCallback(handle) : at::disableCallback(handle);
    is_on.store(on, std::memory_order_relaxed);
  }

private:
  InsideForkGate gate_;
};

} // namespace

void prepareObservation(at::RecordFunctionCallback::StartCallback start,
                        at::RecordFunctionCallback::EndCallback end) {
  handle = at::addGlobalCallback(at::RecordFunctionCallback(start, end)
                                     .needsInputs(true)
                                     .needsOutputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
  at::disableCallback(handle);
}

void addObservingThread() {
  Switch own;
  ++observing_threads;
  own.turn(true);
}

void keepObserving() {
  if (is_on.load(std::memory_order_relaxed))
    return;
  Switch own;
  own.turn(true);
}

void removeObservingThread() {
  Switch own;
  --observing_threads;
}

void countObservedInVain() {
  thread_local unsigned in_vain = 0;
  ++in_vain;
  bool asked = observing_threads.load(std::memory_order_relaxed) > 0;
  if (in_vain % (asked ? kMaxInVain : kMaxUnasked) != 0)
    return;
  Switch own;
  if (asked || observing_threads == 0)
    own.turn(false);
}

void settleObservation() {
  // Each thread copies the list of observers, under its lock, at its first operator after a change:
  // this one does so now rather than in the child, where another thread's lock may be left behind.
  at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);
}

void forgetObservation() {
  busy.clear();
  observing_threads = 0;
  Switch own;
  own.turn(false);
}

} // namespace devsan::runtime
