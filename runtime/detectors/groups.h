// Equal events make one finding. Detectors choose events, group them by place and devices, and word
// one message for each group; the rest of a finding is the same for all rules and is made here.
#pragma once

#include "core/finding/finding.h"
#include "runtime/resolve/resolve.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace devsan::runtime {

// Events of the same place, operator and devices, with how often and in which steps they came.
struct EventGroup : Occurrences {
  const ResolvedEvent *first = nullptr;
  // How often one thread made the same call in a loop, 0 where it is none: reading a result once in
  // every rank makes several events at one place and is no loop, nor is printing a tensor once,
  // reading a result twice, or a summary in fewer than every tenth step.
  std::uint64_t repeats = 0;
  std::uint32_t any_flags = 0, all_flags = ~std::uint32_t{0};
  bool same_rank = true;
  bool of_loader = false; // a data loader was seen to make what one of them copies
  std::set<std::string> from, to, operators, operands; // names
  // By file, line and function, the first stack of each.
  std::map<std::tuple<std::string, unsigned, std::string>, const ResolvedStack *> places;
  std::vector<core::ObservedEvent> events;
};

// What makes one group beside events of the same place, operator and devices.
struct Joined {
  bool devices = false; // of one kind
  bool causes = false;  // copies of what was made on the host at one place, wherever they are
};

// In the order of the first events.
std::vector<EventGroup> groupByPlace(const Recording &recording,
                                     const std::function<bool(const ResolvedEvent &)> &chosen,
                                     Joined joined = {});

// Not in a loop, of a program that makes steps.
bool happensOnce(const EventGroup &group);

// Whether the program's line is Python's, which decides the words.
bool isInPython(const ResolvedEvent &event);

// Where the host's tensor was made that the event copies; null where that is unknown.
const ResolvedStack *causeOf(const ResolvedEvent &event);

// "cuda:0", "cuda:0 and cuda:1".
std::string devicesText(const std::set<std::string> &names);

// A finding with everything but its message. `from` and `to` are the event's devices.
core::Finding makeFinding(std::string_view rule, const EventGroup &group);

// The place of `stack` as a related place; nothing where it is null or holds no place of the
// user's.
void addRelated(core::Finding &finding, const ResolvedStack *stack, std::string message);

// Where the host's tensor was made, unless that is the place of the finding.
void addCause(core::Finding &finding, const EventGroup &group);

// " in aten::where", or nothing where no operator is known; in a backward with the autograd node,
// which is all there is to say where no frame of the user's is on the stack. Not for refusals.
std::string inOperator(const ResolvedEvent &event);

// "4 B", or "up to 4 B" where the events differ.
std::string sizeText(const EventGroup &group);

// A copy that LibTorch made although nothing in the program asked for one. Reads of a single value
// are no transfers: what they cost is the wait.
bool isImplicitTransfer(const ResolvedEvent &event);

// The copy of host values into a tensor that the program makes on a device.
bool isConstruction(const ResolvedEvent &event);

// A wait, of a copy or of its own, that nothing in the program spelled out.
bool isImplicitWait(const ResolvedEvent &event);

} // namespace devsan::runtime
