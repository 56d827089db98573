#include "runtime/detectors/detector.h"
#include "runtime/detectors/mismatch_cause.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectIndexLost(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const ExplainedMismatch &mismatch : explainMismatches(recording)) {
    if (mismatch.cause != MismatchCause::kIndexLost)
      continue;
    core::Finding finding = makeMismatchFinding("device-index-lost", mismatch.group);
    finding.message = "a tensor (" + mismatch.operands + ") was made on the current device, " +
                      finding.from + ", by a call that gives no index, and the others are on " +
                      finding.to + ": " + finding.op + " refused " +
                      timesText(mismatch.group.count);
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
