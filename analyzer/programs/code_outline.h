// The functions, classes and macros that the text of one file defines, and the names that each of
// them says. No header is needed for it, and nothing is parsed: what may be a name counts as one.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>
#include <vector>

namespace devsan::analyzer {

struct CodeOutline {
  struct Part {
    enum class Kind { kFunction, kClass, kMacro };
    Kind kind = Kind::kFunction;
    llvm::StringRef name = {};  // without its scope
    llvm::StringRef scope = {}; // the class or namespace that a function is a member of
    bool is_implicit = false;   // see CodeHead; a class that need not be named to be used
    bool is_exported = false;   // others may use it; of a macro: what it marks
    bool is_module = false, has_bases = false; // see CodeHead
    bool is_holder = false;                    // `TORCH_MODULE(Net)`: who has a Net has a NetImpl
    unsigned first_line = 0, last_line = 0;    // of what has a body
    std::vector<llvm::StringRef> names = {};   // that it says, beside its own
  };
  std::vector<Part> parts;
  std::vector<llvm::StringRef> names;  // outside of all parts
  std::vector<llvm::StringRef> pasted; // `x##_run`: how names begin or end that nobody writes
};

// `text`: live code, which has to outlive it. Of what does not read as C++ there are no functions
// and classes: all is outside.
CodeOutline outlineOf(const std::string &text);

// All that may be names, in a file of whatever kind.
std::vector<llvm::StringRef> namesIn(llvm::StringRef text);

} // namespace devsan::analyzer
