#include "runtime/detectors/detector.h"
#include "runtime/detectors/mismatch_cause.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectModuleReplacedAfterTo(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const ExplainedMismatch &mismatch : explainMismatches(recording)) {
    if (mismatch.cause != MismatchCause::kPartNotMoved)
      continue;
    core::Finding finding = makeMismatchFinding("device-module-replaced-after-to", mismatch.group);
    finding.message = "the module was moved to " + finding.to + ", but parameters (" +
                      mismatch.operands + ") stayed on " + finding.from + ": " + finding.op +
                      " refused " + timesText(mismatch.group.count);
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
