#include "runtime/hooks/stream_races.h"

#include "runtime/record/device_keys.h"
#include "runtime/record/simulator.h"
#include "runtime/sim/api/observers.h"

#include <string>

namespace devsan::runtime {
namespace {

std::uint64_t callingPlace() {
  std::uint64_t place = 0;
  recordUnlessInternal([&] { place = recorder().currentStack(); });
  return place;
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
  recordUnlessInternal([&] {
    Event event = makeEvent(EventKind::kStreamRace, *race);
    event.op = recorder().string(race->second.op);
    event.operand = recorder().string(race->first.op);
    event.flags |= (race->second.writes ? kLaterWrites : 0) | (race->settled ? kSettled : 0);
    event.stack = static_cast<StackId>(race->second.place);
    event.related = static_cast<StackId>(race->first.place);
    recorder().record(event);
  });
}

void observeLifetime(const DevSanStreamRace *race) {
  if (race->first.place == 0)
    return;
  recordUnlessInternal([&] {
    Event event = makeEvent(EventKind::kStreamLifetime, *race);
    event.op = recorder().string(race->first.op);
    event.stack = static_cast<StackId>(race->first.place);
    event.related = static_cast<StackId>(race->second.place);
    recorder().record(event);
  });
}

} // namespace

void observeStreams() {
  setObservers<DevSanPlaceObserver, DevSanStreamRaceObserver>("devsan_sim_set_stream_race_observer",
                                                              callingPlace, observeRace);
  setObservers<DevSanStreamRaceObserver>("devsan_sim_set_stream_lifetime_observer",
                                         observeLifetime);
}

} // namespace devsan::runtime
