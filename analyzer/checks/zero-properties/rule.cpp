#include "analyzer/facts/rule.h"

namespace devsan::analyzer {
namespace {

// A program says itself which devices it uses; and code that neither has tensors nor puts work on a
// device has no device to ask for.
bool isLibraryOnDevices(Program &program) {
  bool works = false;
  for (const CudaFunction &function : program.cudaFunctions()) {
    if (function.is_main)
      return false;
    works |= function.works_on_devices;
  }
  return works;
}

RuleFinding asksZero(const PropertyQuery &query, Variable tensor, Program &program) {
  RuleFinding finding{.at = query.expr,
                      .message = "asks device 0, while " +
                                 (tensor ? "'" + program.name(tensor) + "' may be on another device"
                                         : "the work may be for another device"),
                      .op = program.operatorName(query.wrapped ? query.wrapped : query.expr),
                      .needs = Needs::kOtherDevice};
  // Kernels are launched on the current device, so its properties are the ones that fit them.
  if (query.wrapped)
    finding.related.push_back({.code = query.wrapped, .message = "asked here"});
  else
    finding.fix = program.askCurrentDevice(query.expr, query.device);
  return finding;
}

Findings zeroProperties(Program &program) {
  Findings findings;
  if (!isLibraryOnDevices(program))
    return findings;
  for (const CudaFunction &function : program.cudaFunctions()) {
    if (function.chooses_zero)
      continue;
    for (const PropertyQuery &query : program.propertyQueries(function.id))
      if (query.of_zero)
        findings.push_back(asksZero(query, function.tensor, program));
      else if (query.guard_follows && !function.callers_guard)
        findings.push_back({.at = query.expr,
                            .message = "asks the device that is current before the guard is set",
                            .op = program.operatorName(query.wrapped ? query.wrapped : query.expr),
                            .needs = Needs::kOtherDevice});
  }
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(zero_properties, zeroProperties)
