#include "runtime/hooks/observation.h"

#include "runtime/log/fork_gate.h"
#include "runtime/record/debug_info.h"

#include <algorithm>
#include <atomic>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

namespace devsan::runtime {
namespace {

at::RecordFunctionCallback::StartCallback start = nullptr;
at::RecordFunctionCallback::EndCallback end = nullptr;

// Plain values, which live until the very end of the thread.
thread_local bool is_observed = false;
thread_local bool has_ended = false;
thread_local bool was_observed_before_fork = false;
thread_local bool wants_marker = false;

constexpr std::string_view kMarkerName = "devsan observation";
constexpr c10::DebugInfoKind kMarkerKind = debugInfoKind(&kMarkerName, 1);

void addObserver();

// Travels with what LibTorch saves and puts back together with a thread's observers, so that it
// goes when the observer that was put on with it goes. It goes in the middle of an assignment to
// the thread's debug info, which must not be touched then: the next operator puts another.
class Marker : public c10::DebugInfoBase {
public:
  ~Marker() override {
    if (owner_ != &is_observed || !is_observed || has_ended)
      return;
    addObserver();
    wants_marker = true;
  }

private:
  const bool *owner_ = &is_observed; // tells the thread
};

// Made after LibTorch's state of the thread, so that it ends before that.
struct ThreadState {
  std::weak_ptr<c10::ThreadLocalDebugInfo>
      marked_info; // what held our marker when it was put there
  ~ThreadState() { has_ended = true; }
};
thread_local ThreadState thread_state;

bool isMarkerOnTop() {
  const auto top = c10::ThreadLocalDebugInfo::current();
  return top && top == thread_state.marked_info.lock();
}

std::optional<at::CallbackHandle> ownObserver() {
  for (const auto &entry : at::get_record_function_tls_().sorted_tls_callbacks_)
    if (entry.callback_.start() == start)
      return entry.handle_;
  return std::nullopt;
}

void addObserver() try {
  InsideForkGate gate;
  if (!ownObserver())
    at::addThreadLocalCallback(at::RecordFunctionCallback(start, end)
                                   .needsInputs(true)
                                   .needsOutputs(true)
                                   .scopes({at::RecordScope::FUNCTION}));
} catch (...) {
  // Out of memory: data of this thread is not followed.
}

void putMarker() try {
  wants_marker = false;
  // The profiler takes its own off from the top, and would find ours there.
  if (isMarkerOnTop() || c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE))
    return;
  c10::ThreadLocalDebugInfo::_push(kMarkerKind, std::make_shared<Marker>());
  thread_state.marked_info = c10::ThreadLocalDebugInfo::current();
} catch (...) {
  // Out of memory.
}

// LibTorch takes the lock too, for every node of a backward: what a thread of the parent held at
// the fork is held in the child for ever. A thread that has nothing else to do finds out.
enum class Lock { kFree, kUnknown, kLost };
std::atomic<Lock> lock_state{Lock::kFree};

bool lockIsFree() {
  struct Answer {
    std::mutex mutex;
    std::condition_variable given;
    bool is_free = false;
  };
  auto answer = std::make_shared<Answer>();
  std::thread([answer] {
    at::get_record_function_tls_(); // a thread's first look takes the lock
    std::lock_guard lock(answer->mutex);
    answer->is_free = true;
    answer->given.notify_one();
  }).detach();
  std::unique_lock lock(answer->mutex);
  constexpr std::chrono::milliseconds kMaxWait(500);
  return answer->given.wait_for(lock, kMaxWait, [&] { return answer->is_free; });
}

bool mayTakeTheLock() try {
  if (lock_state.load(std::memory_order_relaxed) == Lock::kUnknown)
    lock_state.store(lockIsFree() ? Lock::kFree : Lock::kLost, std::memory_order_relaxed);
  return lock_state.load(std::memory_order_relaxed) == Lock::kFree;
} catch (...) {
  return false; // no thread can be made
}

} // namespace

void prepareObservation(at::RecordFunctionCallback::StartCallback observer_start,
                        at::RecordFunctionCallback::EndCallback observer_end) {
  start = observer_start;
  end = observer_end;
}

void observeThread() {
  if (has_ended || !mayTakeTheLock())
    return;
  is_observed = true;
  addObserver();
  putMarker();
}

void operatorObserved() {
  if (wants_marker)
    putMarker();
}

void leaveThread() {
  is_observed = wants_marker = false;
  if (has_ended || !start || !mayTakeTheLock())
    return;
  InsideForkGate gate;
  if (auto handle = ownObserver())
    at::removeCallback(*handle);
  if (isMarkerOnTop())
    c10::ThreadLocalDebugInfo::_pop(kMarkerKind);
}

void pauseObservation() {
  was_observed_before_fork = is_observed;
  if (is_observed)
    leaveThread();
}

void resumeObservationInParent() {
  if (was_observed_before_fork)
    observeThread();
}

void forgetObservation() {
  lock_state.store(Lock::kUnknown, std::memory_order_relaxed);
}

} // namespace devsan::runtime
