// What autograd is doing on the calling thread. Kept apart because its headers are large.
#pragma once

#include <string>

namespace devsan::runtime {

bool inBackward();

// "MulBackward0"; empty outside a node and for nodes written in Python, whose name needs the
// interpreter's lock and whose frames are on the stack anyway.
std::string currentNodeName();

// In anomaly mode, what LibTorch knows of the forward call whose backward runs here: Python's
// traceback as text, outermost first. Empty elsewhere. Takes the interpreter's lock: the caller
// holds none.
std::string forwardTraceback();

} // namespace devsan::runtime
