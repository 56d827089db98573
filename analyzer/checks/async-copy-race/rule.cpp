#include "analyzer/facts/rule.h"
#include "analyzer/facts/text.h"

#include <algorithm>

namespace devsan::analyzer {
namespace {

class AsyncCopyRace {
public:
  explicit AsyncCopyRace(Program &program) : program_(program) {}

  Findings judge() {
    for (const CudaFunction &function : program_.cudaFunctions()) {
      const std::vector<CopyStep> steps = program_.copySteps(function.id);
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i].kind == CopyStep::Kind::kToHost && steps[i].memory)
          follow(function.id, steps[i], std::span(steps).subspan(i + 1));
    }
    return std::move(findings_);
  }

private:
  // To the first step behind the copy that waits, or that needs what it brings.
  void follow(Function function, const CopyStep &copy, std::span<const CopyStep> steps) {
    bool ordered = false; // some stream waits for an event: it may be the one that reads
    for (const CopyStep &step : steps) {
      if (exclude(copy, step))
        continue;
      switch (step.kind) {
      case CopyStep::Kind::kWait:
        return;
      case CopyStep::Kind::kOrder:
        ordered = true;
        break;
      case CopyStep::Kind::kTouch:
        if (step.memory == copy.memory)
          return report(copy, step, "the host uses '{}' before it has waited for this copy");
        break;
      case CopyStep::Kind::kToDevice:
        // Work of one stream runs in order.
        if (step.memory == copy.memory && copy.stream && step.stream && !ordered &&
            program_.isSame(copy.pointer, step.pointer) &&
            !program_.isSameStream(copy.stream, step.stream, function))
          return report(copy, step,
                        "another stream reads '{}' without having waited for this copy");
        break;
      case CopyStep::Kind::kToHost:
        if (step.memory == copy.memory)
          return;
        break;
      }
    }
  }

  // No run of the function passes both.
  static bool exclude(const CopyStep &a, const CopyStep &b) {
    return std::ranges::any_of(a.branches, [&](const auto &taken) {
      return std::ranges::any_of(b.branches, [&](const auto &other) {
        return taken.first == other.first && taken.second != other.second;
      });
    });
  }

  void report(const CopyStep &copy, const CopyStep &use, std::string_view what) {
    findings_.push_back({.at = copy.expr,
                         .message = fill(what, {program_.name(copy.memory)}),
                         .op = program_.operatorName(copy.expr),
                         .to = Place::host().device(),
                         .related = {{.code = use.expr, .message = "used here"}}});
  }

  Program &program_;
  Findings findings_;
};

Findings asyncCopyRace(Program &program) {
  return AsyncCopyRace(program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(async_copy_race, asyncCopyRace)
