// What `git apply` and `patch -p1` take.
#pragma once

#include <clang/Tooling/Core/Replacement.h>

#include <string>

namespace devsan::analyzer {

// Of one file. `name` is its path, relative to where the difference is to be applied. Characters
// that control a terminal are shown, not written.
std::string unifiedDiff(const std::string &name, llvm::StringRef before,
                        const clang::tooling::Replacements &replacements);

} // namespace devsan::analyzer
