#include "runtime/detectors/detector.h"
#include "runtime/detectors/mismatch_cause.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectUnregisteredState(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const ExplainedMismatch &mismatch : explainMismatches(recording)) {
    if (mismatch.cause != MismatchCause::kStateLeftBehind)
      continue;
    core::Finding finding = makeMismatchFinding("device-unregistered-state", mismatch.group);
    finding.message =
        (mismatch.group.first->has(kLeafParameter) ? "parameters that no module has registered ("
                                                   : "a state made earlier (") +
        mismatch.operands + ") stayed on " + finding.from + " while its inputs are on " +
        finding.to + ": " + finding.op + " refused " + timesText(mismatch.group.count);
    if (mismatch.group.first->has(kLeafParameter))
      finding.remedy =
          isInPython(*mismatch.group.first)
              ? "keep modules in nn.ModuleList and parameters in nn.ParameterList, or make them "
                "members of their own: what lies in a plain list does not follow .to()"
              : "where it is made, register it: register_parameter(name, tensor), or "
                "register_module(name, module) for the module that holds it; what is only a member "
                "does not follow to()";
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
