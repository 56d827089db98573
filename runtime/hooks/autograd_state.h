// What autograd is doing on the calling thread. Kept apart because its headers are large.
#pragma once

#include <string>

namespace devsan::runtime {

bool inBackward();

// "MulBackward0"; empty outside a node and for nodes written in Python, whose name needs the
// interpreter's lock and whose frames are on the stack anyway.
std::string currentNodeName();

} // namespace devsan::runtime
