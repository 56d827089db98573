#include "runtime/detectors/detector.h"
#include "runtime/detectors/mismatch_cause.h"
#include "runtime/offline/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectUnregisteredState(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const ExplainedMismatch &mismatch : explainMismatches(recording)) {
    if (mismatch.cause != MismatchCause::kStateLeftBehind)
      continue;
    core::Finding finding = makeMismatchFinding("device-unregistered-state", mismatch.group);
    finding.message = "a state made earlier (" + mismatch.operands + ") stayed on " + finding.from +
                      " while its inputs are on " + finding.to + ": " + finding.op + " refused " +
                      timesText(mismatch.group.count);
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
