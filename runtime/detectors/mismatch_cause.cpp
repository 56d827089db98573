#include "runtime/detectors/mismatch_cause.h"
#include "runtime/resolve/function_name.h"
#include "runtime/resolve/names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace devsan::runtime {
namespace {

using ProcessDevice = std::tuple<std::uint32_t, std::int8_t, std::int8_t>;

// Whether the scope of a function is a class and not a namespace, as far as names tell: it has a
// constructor, or it is written as classes mostly are.
bool isMethod(const ResolvedFrame &frame, const std::string &scope) {
  const std::string_view name = lastComponent(scope);
  return frame.interpreted || name == lastComponent(frame.function()) ||
         (!name.empty() && std::isupper(static_cast<unsigned char>(name.front())));
}

// The scopes of the user's frames of a stack.
std::set<std::string> scopesOf(const ResolvedStack &stack, bool classes_only) {
  std::set<std::string> scopes;
  for (const ResolvedFrame &frame : stack.frames) {
    if (frame.kind != FrameKind::kUser)
      continue;
    std::string scope = scopeOf(frame.function());
    if (!scope.empty() && (!classes_only || isMethod(frame, scope)))
      scopes.insert(std::move(scope));
  }
  return scopes;
}

bool haveCommon(const std::set<std::string> &a, const std::set<std::string> &b) {
  return std::ranges::any_of(a, [&](const std::string &one) { return b.contains(one); });
}

// A state is made by one method of a class, mostly its constructor, and used by another after the
// first has returned. A tensor that merely came from a helper, such as a batch, shares no class
// with its use.
bool isStateOfAUser(const ResolvedEvent &event) {
  if (!event.event.from.isHost() || event.has(kLeafParameter) || event.has(kOriginIsMove) ||
      !event.has(kSourceOutlivesCall))
    return false;
  const std::set<std::string> makers = scopesOf(*event.related, /*classes_only=*/true);
  const std::set<std::string> users = scopesOf(*event.stack, /*classes_only=*/false);
  return haveCommon(makers, users);
}

// A parameter that was moved with its module.
struct Move {
  StackId stack = 0;            // stacks are numbered as they are first seen
  std::set<std::string> makers; // the classes that made it
};
using Moves = std::map<ProcessDevice, std::vector<Move>>; // by process and destination

Moves moduleMoves(const Recording &recording) {
  Moves moves;
  for (const ResolvedEvent &event : recording.events()) {
    if (event.event.kind != EventKind::kCopy || event.stack->intent != Intent::kBulkMove)
      continue;
    Move &move = moves[{event.process, event.event.to.type, event.event.to.index}].emplace_back();
    move.stack = event.event.stack;
    if (event.related)
      move.makers = scopesOf(*event.related, /*classes_only=*/true);
  }
  return moves;
}

// A parameter stayed behind although a module was moved to where it is used. One that was made
// before others of its class were moved is not registered with its module. Where no class that had
// parameters moved uses it, it belongs to a module that nobody moved. Else it came too late.
MismatchCause causeOfParameter(const ResolvedEvent &event, const std::vector<Move> &moves) {
  const std::set<std::string> makers =
      event.related ? scopesOf(*event.related, /*classes_only=*/true) : std::set<std::string>();
  if (std::ranges::any_of(moves, [&](const Move &move) {
        return event.event.related < move.stack && haveCommon(makers, move.makers);
      }))
    return MismatchCause::kStateLeftBehind;
  const std::set<std::string> users = scopesOf(*event.stack, /*classes_only=*/true);
  const auto isKnown = [](const Move &move) { return !move.makers.empty(); };
  const auto isUser = [&](const Move &move) { return haveCommon(users, move.makers); };
  const bool is_apart = event.related && !users.empty() && std::ranges::any_of(moves, isKnown) &&
                        std::ranges::none_of(moves, isUser);
  return is_apart ? MismatchCause::kUnexplained : MismatchCause::kPartNotMoved;
}

MismatchCause causeOf(const ResolvedEvent &event, const Moves &moves) {
  if (event.has(kOriginWithoutIndex) && !event.has(kOriginIsMove) && !event.event.from.isHost())
    return MismatchCause::kIndexLost;
  if (event.has(kLeafParameter) && !event.event.to.isHost()) {
    const auto to_here = moves.find({event.process, event.event.to.type, event.event.to.index});
    if (to_here != moves.end())
      return causeOfParameter(event, to_here->second);
  }
  return isStateOfAUser(event) ? MismatchCause::kStateLeftBehind : MismatchCause::kUnexplained;
}

} // namespace

std::vector<ExplainedMismatch> explainMismatches(const Recording &recording) {
  const Moves moves = moduleMoves(recording);
  // Of a refusal's odd operands, the one that explains most.
  struct Choice {
    const ResolvedEvent *event;
    MismatchCause cause;
    std::string operands;
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, Choice> refusals;
  std::uint64_t ungrouped = 0;
  for (const ResolvedEvent &event : recording.events()) {
    if (event.event.kind != EventKind::kMismatch)
      continue;
    const Choice choice{&event, causeOf(event, moves), event.operand};
    const std::uint64_t group = event.event.group ? event.event.group : ~ungrouped++;
    auto [entry, added] = refusals.try_emplace({event.process, group}, choice);
    if (added)
      continue;
    if (choice.cause < entry->second.cause)
      entry->second = choice;
    else if (choice.cause == entry->second.cause)
      entry->second.operands += ", " + event.operand;
  }
  std::unordered_map<const ResolvedEvent *, const Choice *> chosen;
  for (const auto &[key, choice] : refusals)
    chosen.emplace(choice.event, &choice);
  std::vector<ExplainedMismatch> result;
  for (const EventGroup &group :
       groupByPlace(recording, [&](const ResolvedEvent &event) { return chosen.contains(&event); }))
    result.push_back({group, chosen.at(group.first)->cause, chosen.at(group.first)->operands});
  return result;
}

core::Finding makeMismatchFinding(std::string_view rule, const EventGroup &group) {
  const ResolvedEvent &event = *group.first;
  core::Finding finding = makeFinding(rule, group);
  finding.from = deviceName(event.event.from);
  finding.to = deviceName(event.event.to);
  addRelated(finding, event.related,
             event.has(kOriginIsMove) ? "moved to " + finding.from + " here"
                                      : "made on " + finding.from + " here");
  return finding;
}

} // namespace devsan::runtime
