// How the rules on streams name a stream.
#pragma once

#include "runtime/resolve/resolve.h"

#include <string>

namespace devsan::runtime {

struct StreamNames {
  std::string earlier, later; // "the default stream of cuda:1", "stream 35 of cuda:1"
};

// Of a kStreamRace or kStreamLifetime event.
StreamNames streamNames(const ResolvedEvent &event);

} // namespace devsan::runtime
