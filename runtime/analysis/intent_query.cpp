#include "runtime/analysis/intent_query.h"

#include "runtime/detectors/groups.h"
#include "runtime/resolve/resolve.h"

namespace devsan::runtime {

core::Result<bool> isImplicitAt(const std::filesystem::path &path, StackId stack, bool copies,
                                const std::filesystem::path &symbolizer) {
  core::Result<ProcessLog> log = readLog(path);
  if (!log)
    return tl::unexpected(log.error());
  Event event;
  event.kind = copies ? EventKind::kCopy : EventKind::kBlock;
  event.to = {1, 0}; // any device
  event.stack = stack;
  log->events = {event};
  log->tallies = {{event, Occurrences::of(event)}};
  log->tally_of = {0};
  SymbolTable symbols;
  if (auto named = symbolize(symbolizer, Recording::addresses(*log), symbols); !named)
    return tl::unexpected(named.error());
  Recording recording{SourcePaths(std::filesystem::path())};
  recording.add(*log, symbols);
  if (recording.events().empty())
    return core::failure("the stack is of the simulator's own work");
  const ResolvedEvent &resolved = recording.events().front();
  return copies ? isImplicitTransfer(resolved) || isConstruction(resolved)
                : isImplicitWait(resolved);
}

} // namespace devsan::runtime
