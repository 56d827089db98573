// One refusal of ATen is one mistake, and four rules can explain it: a part of a module that was
// not moved, a state that does not follow its module, a device whose index got lost, or none of
// them. They ask here, so that exactly one of them answers.
#pragma once

#include "runtime/detectors/groups.h"

#include <vector>

namespace devsan::runtime {

// What explains more comes first.
enum class MismatchCause { kPartNotMoved, kStateLeftBehind, kIndexLost, kUnexplained };

struct ExplainedMismatch {
  EventGroup group; // `first` is the event of the operand that explains the refusal
  MismatchCause cause = MismatchCause::kUnexplained;
  std::string
      operands; // all that the cause holds for: "self: float32 [10], mat2: float32 [32, 10]"
};

// One for each place where ATen refused.
std::vector<ExplainedMismatch> explainMismatches(const Recording &recording);

// The finding of one of the three rules: what is common to them.
core::Finding makeMismatchFinding(std::string_view rule, const EventGroup &group);

} // namespace devsan::runtime
