#include "runtime/hooks/host_access.h"

#include "runtime/record/origins.h"
#include "runtime/record/simulator.h"
#include "runtime/sim/api/observers.h"

#include <atomic>
#include <c10/core/DeviceType.h>
#include <string>

namespace devsan::runtime {
namespace {

// Looking up an origin by address reads the whole table; a program that touches device memory this
// often has been told where its tensors come from.
constexpr std::uint32_t kLookedUp = 1000;

void observe(const DevSanHostAccess *access) {
  static std::atomic<std::uint32_t> seen{0};
  recordUnlessInternal([&] {
    Event event;
    event.kind = EventKind::kHostAccess;
    event.from = {static_cast<std::int8_t>(c10::DeviceType::CUDA),
                  static_cast<std::int8_t>(access->device)};
    event.bytes = access->size;
    event.flags =
        (access->kind == DEVSAN_SIM_WRITE ? kHostWrites : 0) | (access->freed ? kFreedMemory : 0);
    if (!access->freed && seen.fetch_add(1, std::memory_order_relaxed) < kLookedUp) {
      TensorOrigin origin = originOfMemory(access->block);
      event.related = origin.stack;
      event.flags |= origin.is_move ? kOriginIsMove : 0;
    }
    recorder().record(event);
  });
}

void observeEarly(const DevSanEarlyAccess *access) {
  recordUnlessInternal([&] {
    Event event;
    event.kind = EventKind::kEarlyAccess;
    event.from = {static_cast<std::int8_t>(c10::DeviceType::CUDA),
                  static_cast<std::int8_t>(access->device)};
    event.bytes = access->bytes;
    event.flags = access->kind == DEVSAN_SIM_WRITE ? kLaterWrites : 0;
    event.detail = recorder().string(std::to_string(access->stream));
    event.related = static_cast<StackId>(access->place);
    recorder().record(event);
  });
}

} // namespace

void observeHostAccesses() {
  setObservers<DevSanHostAccessObserver>("devsan_sim_set_host_access_observer", observe);
  setObservers<DevSanEarlyAccessObserver>("devsan_sim_set_early_access_observer", observeEarly);
}

} // namespace devsan::runtime
