#include "runtime/detectors/launches.h"
#include "runtime/resolve/function_name.h"

namespace devsan::runtime {

bool isProgramsLaunch(const ResolvedEvent &event) {
  return event.event.kind == EventKind::kLaunch && event.stack->innermost_user &&
         event.stack->op.empty();
}

bool reachesOtherDevice(const ResolvedEvent &event) {
  return event.event.to.index >= 0 && event.event.to != event.event.from;
}

std::string kernelText(const ResolvedEvent &event) {
  return event.operand.empty() ? "a kernel" : "kernel " + nameOfSymbol(event.operand);
}

std::string currentStreamOf(const ResolvedEvent &event) {
  const std::size_t space = event.detail.find(' ');
  return space == std::string::npos ? "" : event.detail.substr(space + 1);
}

} // namespace devsan::runtime
