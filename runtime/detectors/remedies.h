// What to do instead of a wait, by what was observed: the operator that the program called, the one
// in it that waited, and the functions of torch's between. Empty where nothing better is known than
// what the rule says. The page of device-host-sync has the same as a table.
#pragma once

#include "runtime/resolve/resolve.h"

#include <string>

namespace devsan::runtime {

std::string remedyFor(const ResolvedEvent &event);

// The same of a copy that nothing asked for.
std::string remedyForTransfer(const ResolvedEvent &event);

} // namespace devsan::runtime
