#include "runtime/detectors/detector.h"

#include <iterator>
#include <string>

namespace devsan::runtime {

#include "detectors.inc"

std::vector<core::Finding> detectAll(const Recording &recording) {
  std::vector<core::Finding> all;
  for (Detector detector : kDetectors) {
    std::vector<core::Finding> some = detector(recording);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  for (core::Finding &finding : all)
    if (const std::string steps = core::stepsText(finding.steps); !steps.empty())
      finding.message += "; " + steps;
  return all;
}

} // namespace devsan::runtime
