#include "analyzer/tool/left_out.h"

#include "core/text/quantities.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>

#include <optional>

namespace devsan::analyzer {
namespace {

bool mayHold(Needs needs, const DeviceUse &use) {
  switch (needs) {
  case Needs::kNothing:
    return true;
  case Needs::kDevice:
  case Needs::kOtherCaller:
    return use.any;
  case Needs::kDeviceData:
    return use.any && use.from_elsewhere;
  case Needs::kOtherDevice:
    return use.second;
  case Needs::kOtherDeviceOrHost:
    return use.second || use.told || use.host_or_other || use.other_kind;
  case Needs::kOtherStream:
    return use.stream;
  case Needs::kForeignFile:
    return use.any && (use.from_elsewhere || !use.saves);
  }
  return true;
}

llvm::StringRef lastOf(llvm::StringRef scopes) {
  const auto [scope, name] = scopes.rsplit("::");
  return name.empty() ? scope : name;
}

// Without its scope; empty where a base may call it.
llvm::StringRef nameCalled(const core::Location &place, const FindingContext &context) {
  return context.is_called_by_name ? lastOf(place.function) : llvm::StringRef();
}

} // namespace

LeftOut leaveOutByPrograms(ProjectPrograms &projects, const std::vector<CompileCommand> &commands,
                           std::vector<FileOutcome> &outcomes) {
  LeftOut left_out;
  for (const auto &[command, outcome] : llvm::zip_equal(commands, outcomes)) {
    if (!outcome.result)
      continue;
    std::optional<DeviceUse> use;
    dropFindings(*outcome.result, [&](const core::Finding &finding, const FindingContext &context) {
      const core::Location &place = finding.locations.front();
      if (!projects.mayRun(command.file, place.file, place.line, nameCalled(place, context),
                           command.in_database)) {
        ++left_out.uncalled;
        return true;
      }
      // What it waits for, nobody else does.
      if (finding.rule == "device-host-sync" && projects.isOfUnitTest(command.file, place.file)) {
        ++left_out.wanted;
        return true;
      }
      if (context.needs == Needs::kNothing && !context.is_for_libraries)
        return false;
      if (!use)
        use = projects.useAround(command.file);
      if (!mayHold(context.needs, *use)) {
        ++left_out.by_use;
        return true;
      }
      if (context.needs == Needs::kOtherCaller &&
          !projects.mayCallBeside(command.file,
                                  lastOf(llvm::StringRef(place.function).rsplit("::").first),
                                  lastOf(place.function))) {
        ++left_out.uncalled;
        return true;
      }
      const bool is_wanted =
          context.is_for_libraries && (!use->from_elsewhere || projects.isOfProgram(command.file));
      left_out.wanted += is_wanted;
      return is_wanted;
    });
  }
  return left_out;
}

std::vector<std::string> notesOf(const LeftOut &left_out) {
  std::vector<std::string> notes;
  const auto add = [&](unsigned count, const char *why) {
    if (count)
      notes.push_back(core::countText(count, "finding") + " left out: " + why +
                      "; --alone reports them");
  };
  add(left_out.by_use, "they need a device or stream that no file of the program chooses");
  add(left_out.wanted, "waits and places of data that the program wants as they are");
  add(left_out.uncalled, "in code that no program of the project calls, or no build takes");
  return notes;
}

} // namespace devsan::analyzer
