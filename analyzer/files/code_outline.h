// The functions, classes and macros that the text of one file defines, and the words that each of
// them says. No header is needed for it, and nothing is parsed: what may be a name of something
// counts as naming it.
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
    llvm::StringRef owner = {}; // the class or namespace that a function is a member of
    bool by_itself = false;     // what has its owner comes to it: nobody has to say its name
    bool has_bases = false;
    bool is_export = false; // of a class: others use it; of a macro: the same of what it marks
    bool is_holder = false; // `TORCH_MODULE(Net)`: who has a Net has a NetImpl
    unsigned first_line = 0, last_line = 0;  // of its body; none of a declaration
    std::vector<llvm::StringRef> words = {}; // beside its name
  };
  std::vector<Part> parts;
  std::vector<llvm::StringRef> words;  // outside of all parts
  std::vector<llvm::StringRef> pasted; // `x##_run`: how names begin or end that nobody writes
  bool is_understood = false;          // else all words are in `words`
};

// `text` has to outlive it.
CodeOutline outlineOf(const std::string &text);

// All that may be names, in a file of whatever kind.
std::vector<llvm::StringRef> namesIn(llvm::StringRef text);

} // namespace devsan::analyzer
