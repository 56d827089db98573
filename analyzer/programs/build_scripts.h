// What files of a project that are no code say about who uses it: a build that makes a library for
// others, a script that loads one.
#pragma once

#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

bool isBuildFile(llvm::StringRef path);

// What a build file says, or several together.
struct Build {
  bool has_stream_per_thread = false; // the default one is another in each thread
  bool offers = false;                // headers, targets or modules to others, or a script loads it
  bool makes_library = false;         // that only who has its headers could use
  bool makes_program = false;
  bool makes_loadable = false; // at run time, as far as is seen
  bool makes_shared = false;   // a library, which programs link, or load
  bool makes_module = false;   // to be loaded
  bool has_libraries = false;  // of any kind, as far as is seen
  bool makes_plugin = false;   // which its host calls by an interface of the host's

  Build &operator|=(const Build &other);
};
Build buildOf(llvm::StringRef path, llvm::StringRef text);

} // namespace devsan::analyzer
