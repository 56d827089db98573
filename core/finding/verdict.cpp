#include "core/finding/verdict.h"

namespace devsan::core {

std::string_view name(Verdict::Outcome outcome) {
  switch (outcome) {
  case Verdict::Outcome::kNone:
    return "";
  case Verdict::Outcome::kPassed:
    return "passed";
  case Verdict::Outcome::kPassedInPart:
    return "passed as far as seen";
  case Verdict::Outcome::kFailed:
    return "failed";
  case Verdict::Outcome::kNotAnalysed:
    return "not analysed";
  case Verdict::Outcome::kNoVerdict:
    return "no verdict";
  }
  return {};
}

int exitStatus(const Verdict &verdict, int of_findings) {
  switch (verdict.outcome) {
  case Verdict::Outcome::kNone:
  case Verdict::Outcome::kPassed:
  case Verdict::Outcome::kPassedInPart:
    return 0;
  case Verdict::Outcome::kFailed:
    return of_findings;
  case Verdict::Outcome::kNotAnalysed:
  case Verdict::Outcome::kNoVerdict:
    break;
  }
  return 2;
}

std::string verdictText(const Verdict &verdict) {
  const std::string text(name(verdict.outcome));
  return verdict.because.empty() ? text : text + " because of " + verdict.because;
}

Verdict verdictFor(const std::vector<std::string> &reasons) {
  Verdict verdict{reasons.empty() ? Verdict::Outcome::kPassed : Verdict::Outcome::kFailed};
  for (std::size_t i = 0; i < reasons.size(); ++i)
    verdict.because += (i == 0 ? "" : i + 1 == reasons.size() ? " and " : ", ") + reasons[i];
  return verdict;
}

} // namespace devsan::core
