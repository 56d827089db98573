// What a command makes of its findings: the first words of each report. The command's exit status
// follows from it, so that the two cannot differ.
#pragma once

#include "core/finding/finding.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::core {

struct Verdict {
  enum class Outcome {
    kNone,         // of a report that no command has judged
    kPassed,       //
    kPassedInPart, // not everything was seen, and nobody asked for a gate
    kFailed,       //
    kNotAnalysed,  // a file, or all of them
    kNoVerdict,    // a gate was asked for, and not everything was seen
  };
  Outcome outcome = Outcome::kNone;
  std::string because = {}; // of a failure: "1 error and 2 warnings"

  bool operator==(const Verdict &) const = default;
};

// "passed", "passed as far as seen", "failed", "not analysed", "no verdict".
std::string_view name(Verdict::Outcome outcome);

// "failed because of 1 error"; empty where there is none.
std::string verdictText(const Verdict &verdict);

// Failed for these reasons; passed where there are none.
Verdict verdictFor(const std::vector<std::string> &reasons);

// What a command ends with: 0, `of_findings` where they fail it, 2 where it cannot tell.
int exitStatus(const Verdict &verdict, int of_findings);

} // namespace devsan::core
