#include "command/verdict.h"

#include <gtest/gtest.h>

namespace devsan::command {
namespace {

using core::Verdict;
using enum Verdict::Outcome;

TEST(Verdict, AgreesWithTheExitStatus) {
  const Verdict failed = core::verdictFor({"1 error", "2 warnings", "x over its budget"});
  const Verdict passed = core::verdictFor({});
  Verdict in_part = passed, gate = passed, failed_in_part = failed;
  limitToObserved(in_part, false);
  limitToObserved(gate, true);
  limitToObserved(failed_in_part, true);
  const struct {
    Verdict verdict;
    const char *text;
    int status;
  } table[] = {
      {passed, "passed", kSuccess},
      {in_part, "passed as far as seen", kSuccess},
      {failed, "failed because of 1 error, 2 warnings and x over its budget", kFindings},
      {failed_in_part, "failed because of 1 error, 2 warnings and x over its budget", kFindings},
      {gate, "no verdict", kCannotStart},
      {{kNotAnalysed, ""}, "not analysed", kCannotStart},
  };
  for (const auto &[verdict, text, status] : table) {
    EXPECT_EQ(core::verdictText(verdict), text);
    EXPECT_EQ(statusOf(verdict), status) << text;
    EXPECT_EQ(core::headline({.tool = "devsan run", .subject = "a.out", .verdict = verdict}),
              "devsan run: " + std::string(text) + ": a.out");
  }
}

} // namespace
} // namespace devsan::command
