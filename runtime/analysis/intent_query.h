// Answers runtime/record/intent_query.h, for `devsan intent`: one stack of a log that is still
// being written.
#pragma once

#include "core/system/result.h"
#include "runtime/protocol/event.h"

#include <filesystem>

namespace devsan::runtime {

// Whether nothing in the program spelled out the copy, or the wait, that happened at `stack`.
core::Result<bool> isImplicitAt(const std::filesystem::path &log, StackId stack, bool copies,
                                const std::filesystem::path &symbolizer);

} // namespace devsan::runtime
