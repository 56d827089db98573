#include "runtime/hooks/stream_races.h"

#include "runtime/hooks/device_keys.h"
#include "runtime/hooks/recorder.h"
#include "runtime/sim/observers.h"

#include <dlfcn.h>
#include <string>

namespace devsan::runtime {
namespace {

std::uint64_t callingPlace() {
  if (InsideRuntime::active())
    return 0;
  InsideRuntime inside;
  try {
    return recorder().currentStack();
  } catch (...) {
    return 0;
  }
}

DeviceId deviceOf(const DevSanStreamAccess &access) {
  return toDeviceId(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(access.device)));
}

Event makeEvent(EventKind kind, const DevSanStreamRace &race) {
  Event event;
  event.kind = kind;
  event.from = deviceOf(race.first);
  event.to = deviceOf(race.second);
  event.bytes = race.bytes;
  event.detail = recorder().string(std::to_string(race.first.stream) + " " +
                                   std::to_string(race.second.stream));
  event.flags = race.first.writes ? kEarlierWrites : 0;
  return event;
}

void observeRace(const DevSanStreamRace *race) {
  if (InsideRuntime::active())
    return;
  InsideRuntime inside;
  try {
    Event event = makeEvent(EventKind::kStreamRace, *race);
    event.op = recorder().string(race->second.op);
    event.operand = recorder().string(race->first.op);
    event.flags |= race->second.writes ? kLaterWrites : 0;
    event.stack = static_cast<StackId>(race->second.place);
    event.related = static_cast<StackId>(race->first.place);
    recorder().record(event);
  } catch (...) {
  }
}

void observeLifetime(const DevSanStreamRace *race) {
  if (InsideRuntime::active() || race->first.place == 0)
    return;
  InsideRuntime inside;
  try {
    Event event = makeEvent(EventKind::kStreamLifetime, *race);
    event.op = recorder().string(race->first.op);
    event.stack = static_cast<StackId>(race->first.place);
    event.related = static_cast<StackId>(race->second.place);
    recorder().record(event);
  } catch (...) {
  }
}

void observeEarlyAccess(const DevSanEarlyAccess *access) {
  if (InsideRuntime::active())
    return;
  InsideRuntime inside;
  try {
    Event event;
    event.kind = EventKind::kEarlyAccess;
    event.from = toDeviceId(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(access->device)));
    event.bytes = access->bytes;
    event.flags = access->kind == DEVSAN_SIM_WRITE ? kLaterWrites : 0;
    event.detail = recorder().string(std::to_string(access->stream));
    event.related = static_cast<StackId>(access->place);
    recorder().record(event);
  } catch (...) {
  }
}

template <typename Function> Function simulatorFunction(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

} // namespace

void observeStreams() {
  using SetRace = void (*)(DevSanPlaceObserver, DevSanStreamRaceObserver);
  using SetLifetime = void (*)(DevSanStreamRaceObserver);
  if (auto set = simulatorFunction<SetRace>("devsan_sim_set_stream_race_observer"))
    set(callingPlace, observeRace);
  if (auto set = simulatorFunction<SetLifetime>("devsan_sim_set_stream_lifetime_observer"))
    set(observeLifetime);
  using SetEarlyAccess = void (*)(DevSanEarlyAccessObserver);
  if (auto set = simulatorFunction<SetEarlyAccess>("devsan_sim_set_early_access_observer"))
    set(observeEarlyAccess);
}

} // namespace devsan::runtime
