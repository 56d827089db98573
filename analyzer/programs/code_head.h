// What stands in front of a body or a `;`, outside of functions: words, not yet parsed.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <cstddef>
#include <string>
#include <vector>

namespace devsan::analyzer {

struct CodeWord {
  llvm::StringRef text;
  unsigned line = 0;
  bool begins_line = false;
};
using CodeWords = llvm::ArrayRef<CodeWord>;

// Without comments. `text` has to outlive them.
std::vector<CodeWord> codeWordsOf(const std::string &text);

// The place behind the counterpart of what opens at `i`; the end where there is none.
std::size_t behindBrackets(CodeWords words, std::size_t i, llvm::StringRef open,
                           llvm::StringRef close);

// What others may use: `__declspec(dllexport)`, `__attribute__((visibility("default")))`,
// `JNIEXPORT`, `NET_EXPORT`, `extern "C"`.
bool isOfExport(CodeWords words);

// A head is taken for that of a function or class only where it reads as one from its first word to
// its last. Whatever else it is, an initialiser or a macro, is kOther.
struct CodeHead {
  enum class Kind { kOther, kFunction, kClass, kNamespace };
  Kind kind = Kind::kOther;
  std::size_t name = 0;           // where it stands; of a class without one, 0
  std::size_t qualified_name = 0; // where it begins, with its scopes
  llvm::StringRef scope = {};     // the class or namespace that it is a member of
  // A constructor, an operator, a virtual method, what a macro makes of its arguments: it is called
  // without its name being said.
  bool is_implicit = false;
  bool is_module = false;         // its one base is LibTorch's
  bool has_bases = false;         // others
  bool is_specialization = false; // of a template
};
// `scope`: the class around it, if any.
CodeHead readHead(CodeWords words, llvm::StringRef scope);

} // namespace devsan::analyzer
