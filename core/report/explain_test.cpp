#include "core/report/explain.h"

#include <gmock/gmock.h>

namespace devsan::core {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Finding findingOf(std::vector<Frame> stack) {
  Finding finding;
  finding.rule = "device-host-sync";
  finding.severity = Severity::kNote;
  finding.origin = Origin::kRuntime;
  finding.fingerprint = "0123456789abcdef";
  finding.message = "the host waited for cuda:0";
  finding.locations = {stack.front().location};
  finding.stack = std::move(stack);
  return finding;
}

TEST(Explanation, HoldsWhatLedToTheFinding) {
  const Finding finding =
      findingOf({{{"src/train.py", 7, 0, "step"}, "", true, true},
                 {{"/home/ann/env/lib/python3.11/site-packages/torch/nn/a.py", 3, 0, "call"}, ""}});
  EXPECT_THAT(explanation(finding, {.tool = "devsan run", .subject = "train"}),
              AllOf(HasSubstr("finding: device-host-sync 0123456789abcdef, observed by devsan run"),
                    HasSubstr("severity: note, where the rule's is warning"),
                    HasSubstr("place: src/train.py:7 in step\n"),
                    HasSubstr("  own     step at src/train.py:7\n"),
                    HasSubstr("  torch   call at site-packages/torch/nn/a.py:3\n")));
}

TEST(Explanation, SaysWhatThePredictedFindingIsAbout) {
  Finding finding = findingOf({{{"src/train.cpp", 7, 0, "step"}, "", true, true}});
  finding.origin = Origin::kStatic;
  finding.op = "aten::to";
  finding.from = "cuda:1";
  finding.to = "cpu";
  EXPECT_THAT(explanation(finding, {.tool = "devsan check", .subject = "1 file"}),
              AllOf(HasSubstr("operator: aten::to\nfrom, to: cuda:1, cpu\n"),
                    Not(HasSubstr("whose:")), Not(HasSubstr("costs:"))));
}

TEST(Explanation, HoldsNothingOfTheUsers) {
  Finding finding = findingOf({{{"/home/ann/secret/train.py", 7, 0, "step"}, "", true},
                               {{"", 0, 0, "main"}, "/home/ann/secret/build/a.out", true},
                               {{"", 0, 0, "at::add"}, "/home/ann/lib/libtorch_cpu.so", false}});
  finding.message = "x of /home/ann/secret: \"/home/ann/y\" (/home/ann/z), 3 / 4";
  finding.statement = "secret = x.item()";
  finding.related = {{{"/home/ann/secret/data.py", 1, 0, "load"}, "made in /home/ann"}};
  EXPECT_THAT(explanation(finding, {.tool = "devsan run", .subject = "./train --key=secret"}),
              AllOf(Not(HasSubstr("ann")), Not(HasSubstr("secret")),
                    HasSubstr("step at (outside):7"), HasSubstr("main at (outside)"),
                    HasSubstr("at::add at libtorch_cpu.so"),
                    HasSubstr("says: x of (outside): \"(outside)\" ((outside)), 3 / 4\n")));
}

} // namespace
} // namespace devsan::core
