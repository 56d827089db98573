#include "runtime/hooks/waits.h"

#include "runtime/protocol/options.h"
#include "runtime/record/simulator.h"
#include "runtime/sim/api/observers.h"

#include <c10/core/DeviceType.h>

namespace devsan::runtime {
namespace {

void observe(const char *function, int index, std::uint64_t blocked_ns) {
  recordUnlessInternal([&] {
    Recorder &out = recorder();
    Event event;
    event.kind = EventKind::kBlock;
    event.flags = kBlocks;
    event.from = {static_cast<std::int8_t>(c10::DeviceType::CUDA), static_cast<std::int8_t>(index)};
    if (options().trace)
      event.time_ns = monotonicTime(); // to take the stack may take long
    event.blocked_ns = event.call_ns = blocked_ns;
    event.op = out.string(function);
    out.record(event);
  });
}

} // namespace

void observeWaits() {
  setObservers<DevSanWaitObserver>("devsan_sim_set_wait_observer", observe);
}

} // namespace devsan::runtime
