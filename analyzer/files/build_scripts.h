// What files of a project that are no code say about who uses it: a build that makes a library for
// others, a script that loads one.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

bool isBuildFile(llvm::StringRef path);
bool isBuiltForOthers(llvm::StringRef path, llvm::StringRef text);
bool usesStreamPerThread(llvm::StringRef text);

} // namespace devsan::analyzer
