#include "runtime/detectors/detector.h"

#include <iterator>

namespace devsan::runtime {

#include "detectors.inc"

std::vector<core::Finding> detectAll(const Recording &recording) {
  std::vector<core::Finding> all;
  for (Detector detector : kDetectors) {
    std::vector<core::Finding> some = detector(recording);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

} // namespace devsan::runtime
