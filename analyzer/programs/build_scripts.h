// What files of a project that are no code say about who uses it: a build that makes a library for
// others, a script that loads one.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

bool isBuildFile(llvm::StringRef path);
struct Build {
  bool has_stream_per_thread = false; // the default one is another in each thread
  bool is_for_others = false;         // a library that is installed, or loaded by a script
  bool makes_program = false;
  bool makes_loadable = false; // at run time
  bool makes_plugin = false;   // which its host calls by an interface of the host's
  bool installs_headers = false;

  Build &operator|=(const Build &other);
};
// Of a build file.
Build buildOf(llvm::StringRef path, llvm::StringRef text);

} // namespace devsan::analyzer
