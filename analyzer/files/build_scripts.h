// What files of a project that are no code say about who uses it: a build that makes a library for
// others, a script that loads one.
#pragma once

#include "analyzer/files/device_words.h"

namespace devsan::analyzer {

bool isBuildFile(llvm::StringRef path);
DeviceUse deviceUseOfBuild(llvm::StringRef path, llvm::StringRef text);

} // namespace devsan::analyzer
