#include "runtime/sim/streams/blocking.h"

#include <atomic>
#include <chrono>

#include <c10/util/Exception.h>

#include "runtime/sim/api/c_api.h"
#include "runtime/sim/api/observers.h"
#include "runtime/sim/graphs/graph.h"

namespace devsan::sim {
namespace {

std::atomic<SyncDebugMode> debug_mode{SyncDebugMode::kDefault};
std::atomic<DevSanWaitObserver> wait_observer{nullptr};
std::atomic<std::uint64_t> host_waits{0};

std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

} // namespace

void announceWait(const runtime::Effect &effect) {
  if (!effect.blocks)
    return;
  refuseToWait(effect);
  host_waits.fetch_add(1, std::memory_order_relaxed);
  if (effect.seen_by_sync_debug)
    warnOrErrorOnSync();
}

SyncDebugMode syncDebugMode() {
  return debug_mode.load(std::memory_order_relaxed);
}

void setSyncDebugMode(SyncDebugMode mode) {
  debug_mode.store(mode, std::memory_order_relaxed);
}

void warnOrErrorOnSync() {
  switch (syncDebugMode()) {
  case SyncDebugMode::kDefault:
    return;
  case SyncDebugMode::kWarn:
    TORCH_WARN("called a synchronizing CUDA operation");
    return;
  case SyncDebugMode::kError:
    TORCH_CHECK(false, "called a synchronizing CUDA operation");
  }
}

ExplicitWait::ExplicitWait(const char *function, c10::DeviceIndex index)
    : function_(function), index_(index), begin_ns_(now()) {
  host_waits.fetch_add(1, std::memory_order_relaxed);
}

ExplicitWait::~ExplicitWait() {
  if (DevSanWaitObserver observer = wait_observer.load(std::memory_order_acquire))
    observer(function_, index_, now() - begin_ns_);
}

} // namespace devsan::sim

using namespace devsan::sim;

void devsan_sim_set_wait_observer(DevSanWaitObserver observer) {
  wait_observer.store(observer, std::memory_order_release);
}

int devsan_sim_sync_debug_mode() {
  return static_cast<int>(syncDebugMode());
}

void devsan_sim_set_sync_debug_mode(int mode) {
  setSyncDebugMode(static_cast<SyncDebugMode>(mode));
}

std::uint64_t devsan_sim_host_waits() {
  return host_waits.load(std::memory_order_relaxed);
}
