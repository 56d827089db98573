#include "runtime/analysis/explain.h"
#include "core/report/explain.h"
#include "core/text/quantities.h"
#include "core/text/terminal_text.h"
#include "runtime/read/log_reader.h"
#include "runtime/resolve/names.h"
#include "runtime/resolve/resolve.h"

#include <fmt/format.h>
#include <set>
#include <utility>

namespace devsan::runtime {
namespace {

constexpr std::size_t kMaxEvents = 16;

std::string_view kindText(EventKind kind) {
  switch (kind) {
  case EventKind::kCopy:
    return "copy";
  case EventKind::kBlock:
    return "wait";
  case EventKind::kRoundTrip:
    return "round trip";
  case EventKind::kMismatch:
    return "refusal";
  case EventKind::kGatherCombined:
    return "combined gather";
  case EventKind::kStep:
    return "step";
  case EventKind::kHostAccess:
    return "access of the host";
  case EventKind::kStreamRace:
    return "uses of two streams";
  case EventKind::kStreamLifetime:
    return "reuse of released memory";
  case EventKind::kEarlyAccess:
    return "access before a copy is done";
  case EventKind::kLaunch:
    return "launch";
  case EventKind::kContext:
    return "context";
  case EventKind::kAllocation:
    return "allocation";
  case EventKind::kDeviceUse:
    return "use of a device";
  }
  return "event";
}

std::string_view intentText(Intent intent) {
  switch (intent) {
  case Intent::kImplicit:
    return "LibTorch did it on the program's behalf";
  case Intent::kExplicit:
    return "the program asked for it";
  case Intent::kBulkMove:
    return "the program moves a module, or loads or saves a file, or PyTorch does it for its own "
           "work";
  case Intent::kDisplay:
    return "the program prints a tensor";
  case Intent::kConstructed:
    return "the program makes a tensor of host values";
  }
  return "";
}

std::string_view kindText(FrameKind kind) {
  switch (kind) {
  case FrameKind::kUser:
    return "program";
  case FrameKind::kTorch:
    return "torch";
  case FrameKind::kSystem:
    return "system";
  case FrameKind::kInterpreter:
    return "python";
  case FrameKind::kDevSan:
    return "devsan";
  }
  return "";
}

std::string flagsText(std::uint32_t flags) {
  constexpr std::pair<EventFlags, std::string_view> kNames[] = {
      {kBlocks, "the host waited"},
      {kNonBlocking, "non_blocking"},
      {kPinned, "pinned"},
      {kInBackward, "in a backward"},
      {kLeafParameter, "a parameter"},
      {kSourceOutlivesCall, "the function that made it has returned"},
      {kOriginIsMove, "was moved"},
      {kOriginWithoutIndex, "made without an index"},
      {kHostWrites, "the host writes"},
      {kFreedMemory, "the memory is released"},
      {kEarlierWrites, "the earlier use writes"},
      {kLaterWrites, "the later use writes"},
      {kSettled, "the host waited in between"},
      {kDefaultStream, "on the legacy default stream"},
      {kContextOnly, "a context alone"},
      {kRecognizedStep, "an optimizer's"},
      {kWarmup, "in the warm-up"}};
  std::string text;
  for (const auto &[flag, name] : kNames)
    if (flags & flag)
      text += fmt::format(", {}", name);
  for (const LevelName &level : kLevelNames) {
    if (level.level == Level::kInherit)
      continue;
    if (transferLevel(flags) == level.level)
      text += fmt::format(", copies: {}", level.name);
    if (syncLevel(flags) == level.level)
      text += fmt::format(", waits: {}", level.name);
  }
  return text;
}

std::string framesText(const ResolvedStack &stack) {
  std::string text;
  for (const ResolvedFrame &frame : stack.frames)
    text += core::printable(fmt::format("    {:8}{} at {}", kindText(frame.kind), frame.function(),
                                        core::publicPlace(frame.frame))) +
            "\n";
  if (stack.is_cut)
    text += "    … more that were not kept\n";
  return text;
}

std::string eventText(const ResolvedEvent &event) {
  const Occurrences &all = event.occurrences;
  const ResolvedStack &stack = *event.stack;
  const bool has_target = event.event.kind != EventKind::kBlock;
  std::string text =
      fmt::format("event: {} {}{}{}, {}", kindText(event.event.kind), deviceName(event.event.from),
                  has_target ? " → " + deviceName(event.event.to) : "",
                  event.op.empty() ? "" : " in " + event.op, timesText(all.count));
  if (all.bytes)
    text += ", " + core::bytesText(all.bytes);
  text += fmt::format(", in {} step{} from {} to {}, at most {} in one", all.steps,
                      all.steps == 1 ? "" : "s", all.first_step, all.last_step, all.most_in_step);
  text += flagsText(event.event.flags);
  text = core::printable(text) + "\n";
  text += core::printable(fmt::format("  read as: {}{}{}{}", intentText(stack.intent),
                                      stack.spelled_out ? ", in its own line" : "",
                                      stack.reads_scalar ? ", to read one value" : "",
                                      stack.op.empty() ? "" : "; it called " + stack.op)) +
          "\n";
  text += "  frames:\n" + framesText(stack);
  if (event.related)
    text += "  related frames:\n" + framesText(*event.related);
  return text;
}

} // namespace

std::string explainEvents(const ObservedProcesses &run, const core::Finding &finding) {
  std::string text;
  std::size_t shown = 0, left_out = 0;
  for (std::uint32_t i = 0; i < run.processes.size(); ++i) {
    std::set<std::uint32_t> wanted;
    for (const core::ObservedEvent &event : finding.events)
      if (event.process == i)
        wanted.insert(event.entry);
    if (wanted.empty())
      continue;
    const core::Result<ProcessLog> log = readLog(run.processes[i].log);
    if (!log)
      continue;
    Recording recording{SourcePaths(run.working_directory)};
    recording.add(*log, run.symbols);
    for (const ResolvedEvent &event : recording.events()) {
      if (!wanted.contains(event.tally))
        continue;
      if (shown++ < kMaxEvents)
        text += eventText(event);
      else
        ++left_out;
    }
  }
  if (left_out)
    text += fmt::format("{} more events of the same finding\n", left_out);
  return text;
}

} // namespace devsan::runtime
