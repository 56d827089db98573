// nvcc takes `kernel << <grid, block>> >(…)`, which clang reads as shifts, and `kernel<<<{n},
// {m}>>>(…)`, whose braces it refuses. Both are respelled as a file is read, without moving
// anything else:
// `<<< grid, block>>> (…)` and `<<<(n), (m)>>>(…)` have the same length, so every place in the file
// stays what it is.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

namespace devsan::analyzer {

// The text respelled; nothing where it has nothing of that.
std::optional<std::string> withClangsLaunches(llvm::StringRef text);

} // namespace devsan::analyzer
