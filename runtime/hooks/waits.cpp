#include "runtime/hooks/waits.h"

#include "runtime/hooks/recorder.h"
#include "runtime/sim/observers.h"

#include <c10/core/DeviceType.h>
#include <dlfcn.h>

namespace devsan::runtime {
namespace {

void observe(const char *function, int index, std::uint64_t blocked_ns) {
  if (InsideRuntime::active())
    return;
  InsideRuntime inside;
  try {
    Recorder &out = recorder();
    Event event;
    event.kind = EventKind::kBlock;
    event.flags = kBlocks;
    event.from = {static_cast<std::int8_t>(c10::DeviceType::CUDA), static_cast<std::int8_t>(index)};
    event.blocked_ns = blocked_ns;
    event.op = out.string(function);
    out.record(event);
  } catch (...) {
    // Out of memory: the program's call succeeded and must return.
  }
}

} // namespace

void observeWaits() {
  auto set = reinterpret_cast<void (*)(DevSanWaitObserver)>(
      dlsym(RTLD_DEFAULT, "devsan_sim_set_wait_observer"));
  if (set)
    set(observe);
}

} // namespace devsan::runtime
