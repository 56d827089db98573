// Python's traceback, as its own text, as a stack of the log. Any thread.
#pragma once

#include "runtime/protocol/event.h"

#include <string_view>

namespace devsan::runtime {

class Interner;

// 0 where the text holds no line `File "train.py", line 3, in forward`.
StackId stackOfTraceback(Interner &interner, std::string_view text);

} // namespace devsan::runtime
