#include "analyzer/facts/rule.h"

namespace devsan::analyzer {
namespace {

Findings rawSetDevice(Program &program) {
  Findings findings;
  for (const CudaFunction &function : program.cudaFunctions()) {
    // A program, or a thread of it, may say once which device it uses.
    if (function.is_main || function.is_thread_entry)
      continue;
    const DeviceSets sets = program.deviceSets(function.id);
    if (sets.by_guard || sets.is_wrapper || sets.restored_at_exit)
      continue;
    for (const DeviceSets::Set &set : sets.sets)
      if (!set.in_new_thread && !set.restores && set.is_left)
        findings.push_back({.at = set.expr,
                            .message = "the caller's current device is changed and not restored",
                            .op = program.operatorName(set.expr),
                            .fix = program.guardInstead(set.expr, function.id),
                            .needs = Needs::kOtherDevice});
  }
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(raw_set_device, rawSetDevice)
