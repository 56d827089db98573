#include "analyzer/facts/rule.h"
#include "analyzer/facts/text.h"

namespace devsan::analyzer {
namespace {

std::string_view wordFor(DeviceThing thing) {
  switch (thing) {
  case DeviceThing::kTensor:
    return "tensor";
  case DeviceThing::kStream:
    return "stream";
  case DeviceThing::kEvent:
    return "event";
  case DeviceThing::kHandle:
    return "handle";
  case DeviceThing::kMemory:
    return "device memory";
  case DeviceThing::kProperties:
    return "properties";
  }
  return {};
}

Findings staticState(Program &program) {
  // A program knows its devices; a library is called with tensors of any.
  for (const CudaFunction &function : program.cudaFunctions())
    if (function.is_main)
      return {};
  Findings findings;
  for (const StaticState &state : program.staticStates()) {
    if (state.one_per_device)
      continue;
    const bool several = state.thing == DeviceThing::kProperties;
    RuleFinding finding{
        .at_variable = state.variable,
        .message = fill("the {} in '{}' {} of the device that is current {}, and {}",
                        {wordFor(state.thing), program.name(state.variable), several ? "are" : "is",
                         state.at_load ? "when the program is loaded" : "at the first call",
                         several ? "are used for all devices" : "serves all devices"}),
        .op = program.operatorName(state.made),
        // Made at load, it also starts CUDA before the program does.
        .needs = state.at_load ? Needs::kNothing : Needs::kOtherDevice};
    if (program.line(state.made) != program.line(state.variable))
      finding.related.push_back({.code = state.made, .message = "made here"});
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(static_state, staticState)
