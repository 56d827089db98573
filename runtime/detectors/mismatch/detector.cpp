#include "runtime/detectors/detector.h"
#include "runtime/detectors/mismatch_cause.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectMismatch(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const ExplainedMismatch &mismatch : explainMismatches(recording)) {
    if (mismatch.cause != MismatchCause::kUnexplained)
      continue;
    core::Finding finding = makeMismatchFinding("device-mismatch", mismatch.group);
    finding.message = finding.op + " got " +
                      (mismatch.operands.empty() ? "a tensor" : mismatch.operands) + " on " +
                      finding.from + ", the others on " + finding.to + ", and refused " +
                      timesText(mismatch.group.count);
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
