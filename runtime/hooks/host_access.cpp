#include "runtime/hooks/host_access.h"

#include "runtime/hooks/origins.h"
#include "runtime/hooks/recorder.h"
#include "runtime/sim/observers.h"

#include <atomic>
#include <c10/core/DeviceType.h>
#include <dlfcn.h>

namespace devsan::runtime {
namespace {

// Looking up an origin by address reads the whole table; a program that touches device memory this
// often has been told where its tensors come from.
constexpr std::uint32_t kLookedUp = 1000;

void observe(const DevSanHostAccess *access) {
  if (InsideRuntime::active())
    return;
  InsideRuntime inside;
  static std::atomic<std::uint32_t> seen{0};
  try {
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
  } catch (...) {
    // Out of memory: the program goes on.
  }
}

} // namespace

void observeHostAccesses() {
  auto set = reinterpret_cast<void (*)(DevSanHostAccessObserver)>(
      dlsym(RTLD_DEFAULT, "devsan_sim_set_host_access_observer"));
  if (set)
    set(observe);
}

} // namespace devsan::runtime
