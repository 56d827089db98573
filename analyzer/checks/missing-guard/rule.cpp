#include "analyzer/facts/rule.h"
#include "analyzer/facts/text.h"

namespace devsan::analyzer {
namespace {

// Of one function.
class MissingGuard {
public:
  MissingGuard(const CudaFunction &function, Program &program, Findings &findings)
      : facts_(function), function_(function.id), program_(program), findings_(findings) {}

  void judge() {
    if (!facts_.callers_guard)
      reportQueries();
    if (facts_.guarded_by_dispatcher)
      return;
    const std::vector<DeviceWork> works = program_.deviceWork(function_);
    for (const DeviceWork::Kind kind :
         {DeviceWork::Kind::kLaunch, DeviceWork::Kind::kCall, DeviceWork::Kind::kHanded})
      for (const DeviceWork &work : works)
        if (work.kind == kind && mayMiss(work) && (kind != DeviceWork::Kind::kCall || work.inner) &&
            isNew(work))
          report(work);
    const bool has_launches = !lines_.empty();
    for (const DeviceWork &work : works)
      if (work.kind == DeviceWork::Kind::kCall && mayMiss(work))
        if (std::string launcher = program_.launcherElsewhere(work.expr, function_);
            !launcher.empty() && isNew(work))
          report(work, std::move(launcher));
    if (!has_launches)
      return;
    for (const DeviceWork &work : works)
      if (work.kind == DeviceWork::Kind::kStream && !work.guarded && isNew(work))
        reportStream(work);
  }

private:
  // A new thread starts on a device of its own. Else, tensors that were made where the work runs
  // are on the device that is current in this thread.
  bool mayMiss(const DeviceWork &work) {
    return !work.guarded &&
           (work.in_new_thread ||
            (!facts_.callers_guard && !program_.fitsCurrentDevice(work.expr, function_)));
  }

  // One finding a line: a macro that takes the stream and launches has one place.
  bool isNew(const DeviceWork &work) { return lines_.insert(work.line).second; }

  void report(const DeviceWork &work, std::string launcher = "") {
    const Variable tensor = program_.tensorOf(work.expr, function_);
    if (!tensor)
      return;
    const bool handed = work.kind == DeviceWork::Kind::kHanded;
    const Code inner = launcher.empty() ? work.inner : nullptr;
    RuleFinding finding{
        .at = work.expr,
        .message = fill(handed ? "the call puts work on a stream while the current device need not "
                                 "be that of '{}': no guard is live here"
                               : "the kernel runs on the current device, which need not be that of "
                                 "'{}': no guard is live here",
                        {program_.name(tensor)}),
        .op = program_.operatorName(inner ? inner : work.expr),
        .fix = program_.guardBefore(function_, tensor),
        .needs = Needs::kOtherDevice,
        .launcher = std::move(launcher)};
    if (inner)
      finding.related.push_back({.code = inner, .message = "launched here"});
    findings_.push_back(std::move(finding));
  }

  // The stream of a bare launch is the wrong one too, and a guard has to come before it.
  void reportStream(const DeviceWork &work) {
    const Variable tensor = facts_.tensor;
    if (!tensor)
      return;
    findings_.push_back({.at = work.expr,
                         .message = fill("'{}' is the stream of the current device, which need not "
                                         "be that of '{}': no guard is live here",
                                         {program_.name(work.stream), program_.name(tensor)}),
                         .op = program_.operatorName(work.expr),
                         .fix = program_.guardBefore(function_, tensor),
                         .needs = Needs::kOtherDevice});
  }

  // What was asked of the current device before the guard set the right one.
  void reportQueries() {
    for (const LateGuard &late : program_.lateGuards(function_))
      findings_.push_back(
          {.at = late.query,
           .message =
               fill("'{}' answers for the device that is current before the guard", {late.name}),
           .op = program_.operatorName(late.query),
           .related = {{.code = late.guard, .message = "the guard is set here"}},
           .needs = Needs::kOtherDevice});
  }

  const CudaFunction &facts_;
  const Function function_;
  Program &program_;
  Findings &findings_;
  std::set<std::pair<unsigned, unsigned>> lines_;
};

Findings missingGuard(Program &program) {
  Findings findings;
  const std::vector<CudaFunction> functions = program.cudaFunctions();
  for (const CudaFunction &function : functions)
    if (function.touches_tensors)
      MissingGuard(function, program, findings).judge();
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(missing_guard, missingGuard)
