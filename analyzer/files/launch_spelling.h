// nvcc takes `kernel << <grid, block>> >(…)`, which clang reads as shifts. Such chevrons are joined
// as a file is read, without moving anything else: `<<< grid, block>>> (…)` has the same length, so
// every place in the file stays what it is.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

namespace devsan::analyzer {

// The text with joined chevrons; nothing where it has none to join.
std::optional<std::string> withJoinedChevrons(llvm::StringRef text);

} // namespace devsan::analyzer
