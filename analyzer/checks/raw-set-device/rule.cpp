#include "analyzer/facts/rule.h"

namespace devsan::analyzer {
namespace {

Findings rawSetDevice(Program &program) {
  Findings findings;
  for (const Function function : program.functionsWithCuda()) {
    // A program, or a thread of it, may say once which device it uses.
    if (program.isMain(function) || program.isThreadEntry(function))
      continue;
    const DeviceSets sets = program.deviceSets(function);
    if (sets.by_guard || sets.is_wrapper || sets.restored_at_exit)
      continue;
    for (const DeviceSets::Set &set : sets.sets)
      if (!set.in_new_thread && !set.restores && set.is_left)
        findings.push_back({.at = set.expr,
                            .message = "the caller's current device is changed and not restored",
                            .op = program.operatorName(set.expr),
                            .fix = program.guardInstead(set.expr, function)});
  }
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(raw_set_device, rawSetDevice)
