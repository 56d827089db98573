// Which rule a copy belongs to, where several could report it: asked by those rules.
#pragma once

#include "runtime/detectors/groups.h"
#include "runtime/resolve/resolve.h"

#include <set>
#include <string>
#include <tuple>

namespace devsan::runtime {

// Where data left for the host, or came back, in a round trip: those copies are that finding's.
class RoundTripLegs {
public:
  explicit RoundTripLegs(const Recording &recording);
  bool contains(const ResolvedEvent &copy) const;

private:
  std::set<std::tuple<std::string, unsigned, bool>> legs_;
};

// The program's own line asked for a copy that does not block, and pageable memory made it wait.
bool isPageableAsync(const ResolvedEvent &event);

// The one change for all copies of pageable memory that a loop makes of a loader's batches; empty
// for others.
std::string loaderRemedy(const EventGroup &group);

// "non_blocking=True" as the program's language has it.
std::string nonBlocking(const EventGroup &group);

// How an upload goes without a wait, by its size.
std::string uploadWithoutWait(const EventGroup &group);

} // namespace devsan::runtime
