#include "runtime/detectors/copies.h"

#include "runtime/protocol/staged_upload.h"

namespace devsan::runtime {
namespace {

std::tuple<std::string, unsigned, bool> leg(const ResolvedStack &stack, bool to_host) {
  core::Location place = stack.location();
  return {std::move(place.file), place.line, to_host};
}

} // namespace

RoundTripLegs::RoundTripLegs(const Recording &recording) {
  for (const ResolvedEvent &event : recording.events()) {
    if (event.event.kind != EventKind::kRoundTrip || event.has(kTransferAllowed))
      continue;
    legs_.insert(leg(*event.stack, false));
    if (event.related)
      legs_.insert(leg(*event.related, true));
  }
}

bool RoundTripLegs::contains(const ResolvedEvent &copy) const {
  return legs_.contains(leg(*copy.stack, copy.event.to.isHost()));
}

bool isPageableAsync(const ResolvedEvent &event) {
  return event.event.kind == EventKind::kCopy && event.has(kNonBlocking) && event.has(kBlocks) &&
         !event.has(kPinned) && event.event.from.isHost() != event.event.to.isHost() &&
         event.stack->spelled_out;
}

std::string loaderRemedy(const EventGroup &group) {
  if ((group.any_flags & kPinned) || !group.repeats || !group.of_loader ||
      group.largest <= kDevSanStagedUpload)
    return {};
  return isInPython(*group.first)
             ? "make the batches in pinned memory, `DataLoader(pin_memory=True)`, and pass "
               "non_blocking=True"
             : "make the batches in pinned memory, `tensor.pin_memory()` in the data set's "
               "collate, and pass non_blocking";
}

std::string nonBlocking(const EventGroup &group) {
  return isInPython(*group.first) ? "non_blocking=True" : "non_blocking=true";
}

std::string uploadWithoutWait(const EventGroup &group) {
  // type_as() takes no such argument.
  const std::string call = group.first->calledOp() == "aten::type_as"
                               ? "`.to(other, " + nonBlocking(group) + ")`"
                               : nonBlocking(group);
  if (group.largest <= kDevSanStagedUpload)
    return "copy it with " + call +
           ": CUDA takes up to 64 KiB along with its command, pinned or not, and the host goes on";
  const bool has_loader = group.of_loader && isInPython(*group.first);
  return "copy it from pinned memory" +
         std::string(has_loader ? " (`DataLoader(pin_memory=True)`)" : "") + " with " + call;
}

} // namespace devsan::runtime
