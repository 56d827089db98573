#include "runtime/detectors/launches.h"
#include "runtime/offline/function_name.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace devsan::runtime {

bool isProgramsLaunch(const ResolvedEvent &event) {
  return event.event.kind == EventKind::kLaunch && event.stack->innermost_user &&
         event.stack->op.empty();
}

bool reachesOtherDevice(const ResolvedEvent &event) {
  return event.event.to.index >= 0 && event.event.to != event.event.from;
}

std::string kernelText(const ResolvedEvent &event) {
  if (event.operand.empty())
    return "a kernel";
  int status = -1;
  const std::unique_ptr<char, void (*)(void *)> demangled(
      abi::__cxa_demangle(event.operand.c_str(), nullptr, nullptr, &status), &std::free);
  return "kernel " + (demangled ? qualifiedName(demangled.get()) : event.operand);
}

std::string currentStreamOf(const ResolvedEvent &event) {
  const std::size_t space = event.detail.find(' ');
  return space == std::string::npos ? "" : event.detail.substr(space + 1);
}

} // namespace devsan::runtime
