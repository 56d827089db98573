#include "analyzer/facts/rule.h"
#include "analyzer/facts/text.h"

#include <algorithm>

namespace devsan::analyzer {
namespace {

class WrongStream {
public:
  explicit WrongStream(Program &program) : program_(program) {}

  Findings judge() {
    for (const CudaFunction &function : program_.cudaFunctions())
      examine(function);
    for (const auto &[macro, found] : in_macros_)
      report(found, macro);
    return std::move(findings_);
  }

private:
  struct OnDefault {
    Function function;
    StreamWork work;
    Variable given; // the stream that the caller wants the work on, of no known tensors
    std::vector<std::string> servants; // none where it holds by itself
  };

  void examine(const CudaFunction &function) {
    const bool serves = function.serves_tensors;
    const Variable given = function.given_stream;
    if (!serves && !given && !function.may_serve_others)
      return;
    for (const StreamWork &work : program_.streamWork(function.id)) {
      const bool disobeys = !serves && given && isLaunch(work.kind);
      if (work.on_default && (serves || disobeys || function.may_serve_others))
        note({function.id, work, disobeys ? given : nullptr, {}}, /*holds=*/serves || disobeys);
      else if (work.taken_before_guard)
        reportTakenBeforeGuard(work);
    }
  }

  // Unless it holds, whoever has the tensors is in another file, and calls the function around it.
  // Of a macro, the finding is one, and holds where one of its users' does.
  void note(OnDefault found, bool holds) {
    if (!holds)
      found.servants.push_back(program_.usr(found.function));
    const std::uint32_t macro = found.work.in_macro;
    if (macro == 0)
      return report(found, macro);
    const auto known =
        std::ranges::find(in_macros_, macro, [](const auto &entry) { return entry.first; });
    if (known == in_macros_.end())
      in_macros_.emplace_back(macro, std::move(found));
    else if (known->second.servants.empty())
      return;
    else if (holds)
      known->second = std::move(found);
    else
      known->second.servants.push_back(std::move(found.servants.front()));
  }

  void report(const OnDefault &found, std::uint32_t macro) {
    const Variable tensor = program_.tensorOf(found.work.expr, found.function);
    const std::string expected =
        found.given ? "the caller gave '" + program_.name(found.given) + "'"
        : tensor    ? "the work of '" + program_.name(tensor) + "' is on the current one"
                    : "the work of the caller's tensors is on the current one";
    RuleFinding finding{.at = found.work.expr,
                        .message = std::string(whatIsOn(found.work.kind)) +
                                   " the default stream, while " + expected,
                        .op = program_.operatorName(found.work.expr),
                        .needs = Needs::kOtherStream,
                        .servants = found.servants};
    if (!found.given)
      finding.fix = program_.useCurrentStream(found.work.expr, found.function);
    if (macro != 0) {
      finding.at_position = macro;
      finding.related.push_back({.code = found.work.expr, .message = "the macro is used here"});
    }
    findings_.push_back(std::move(finding));
  }

  static std::string_view whatIsOn(LaunchKind kind) {
    switch (kind) {
    case LaunchKind::kKernel:
      return "the kernel is launched on";
    case LaunchKind::kCopy:
      return "the copy or handle is put on";
    case LaunchKind::kStreamArgument:
      return "the call is given";
    case LaunchKind::kAlgorithm:
      return "the algorithm runs on";
    }
    return {};
  }

  // `stream = getCurrentCUDAStream(); CUDAGuard guard(x.device()); kernel<<<…, stream>>>`: the
  // stream is of the device that was current before.
  void reportTakenBeforeGuard(const StreamWork &work) {
    findings_.push_back({.at = work.expr,
                         .message = fill("'{}' is the stream of the device that was current before "
                                         "the guard, not of the tensor's device",
                                         {program_.name(work.stream)}),
                         .op = program_.operatorName(work.expr),
                         .related = {{.code = work.taken_before_guard,
                                      .message = "the stream is taken here, the guard is set "
                                                 "later"}},
                         .needs = Needs::kOtherDevice});
  }

  Program &program_;
  std::vector<std::pair<std::uint32_t, OnDefault>> in_macros_;
  Findings findings_;
};

Findings wrongStream(Program &program) {
  return WrongStream(program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(wrong_stream, wrongStream)
