#include "runtime/hooks/device_uses.h"

#include "runtime/record/simulator.h"
#include "runtime/sim/api/observers.h"

#include <c10/core/DeviceType.h>

namespace devsan::runtime {
namespace {

void observe(int index, bool works, const char *function) {
  recordUnlessInternal([&] {
    Event event;
    event.kind = EventKind::kDeviceUse;
    event.flags = works ? 0 : kContextOnly;
    event.from = {static_cast<std::int8_t>(c10::DeviceType::CUDA), static_cast<std::int8_t>(index)};
    event.op = recorder().string(function ? function : "");
    recorder().record(event);
  });
}

} // namespace

void observeDeviceUses() {
  setObservers<DevSanDeviceUseObserver>("devsan_sim_set_device_use_observer", observe);
}

} // namespace devsan::runtime
