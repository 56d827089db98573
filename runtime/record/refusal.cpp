#include "runtime/record/refusal.h"

#include "runtime/record/intent_query.h"
#include "runtime/record/recorder.h"
#include "runtime/record/scopes.h"

#include <c10/core/Device.h>
#include <c10/util/Exception.h>
#include <string>
#include <string_view>

namespace devsan::runtime {
namespace {

c10::Device toDevice(DeviceId id) {
  return {static_cast<c10::DeviceType>(id.type), id.index};
}

std::string describeAction(const Event &event, std::string_view op) {
  const std::string start = "devsan: " + std::string(op) + " is about to ";
  if (event.kind == EventKind::kCopy && event.flags & kTransferDisallowed)
    return start + "copy from " + toDevice(event.from).str() + " to " + toDevice(event.to).str() +
           ", which a transfer guard disallows here";
  const DeviceId device = event.from.isHost() ? event.to : event.from;
  return start + "wait for " + toDevice(device).str() + ", which is disallowed here";
}

bool isDisallowed(const Event &event) {
  const Level transfer =
      event.kind == EventKind::kCopy ? transferLevel(event.flags) : Level::kInherit;
  const Level sync = event.flags & kBlocks ? syncLevel(event.flags) : Level::kInherit;
  if (transfer == Level::kDisallowExplicit || sync == Level::kDisallowExplicit)
    return true;
  return (disallows(transfer) || disallows(sync)) &&
         isImplicit(event.stack, event.kind == EventKind::kCopy);
}

} // namespace

bool mayRefuse() {
  return currentGuards().raises() && recorder().recording();
}

void refuseWhereDisallowed(const Event &event, std::string_view op) {
  std::string message;
  {
    InsideRuntime inside;
    Event judged = event;
    judged.step = recorder().step();
    applyGuards(judged);
    if (judged.flags & kWarmup || !(judged.flags & (kTransferDisallowed | kSyncDisallowed)))
      return;
    judged.stack = recorder().currentStack();
    if (!isDisallowed(judged))
      return;
    recorder().record(judged);
    message = describeAction(judged, op);
  }
  TORCH_CHECK(false, message);
}

} // namespace devsan::runtime
