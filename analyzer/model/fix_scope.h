// What a fix may write at a place of a function: a name that means the same there as where the
// check saw it, of a tensor that is sure to be there by then. Checks ask before they offer a fix,
// and before their message names an expression to use; where the answer is no, the remedy stays in
// words.
#pragma once

#include "analyzer/facts/value.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/SmallVector.h>

#include <optional>
#include <string>

namespace devsan::analyzer {

class FixScope {
public:
  // `at` is part of the body or the initialisers of `function`, inside a lambda or not. Nothing can
  // be written elsewhere: in a default argument, in another function.
  FixScope(const clang::FunctionDecl *function, const clang::Stmt *at);

  // The name alone means this variable or member.
  bool sees(const clang::ValueDecl *decl) const;
  // The path as an expression: `x`, `batch->data`. None where an element of a container is on it.
  std::optional<std::string> spell(const Path &path) const;
  // The expression for the device of a tensor, or that a device or options name: `x.device()`.
  // None where what is there may be undefined, null or moved from.
  std::optional<std::string> device(const Path &path) const;

private:
  bool isSure(const Path &path) const;

  const clang::FunctionDecl *function_;
  // From the outermost statement to `at`; empty where `at` was not found.
  llvm::SmallVector<const clang::Stmt *, 32> way_;
  bool in_body_ = false;
};

// The function asks whether that variable or member holds anything: `x.defined()`, `p != nullptr`.
bool isTested(const clang::FunctionDecl *function, const Path &path);
// `part` goes into a value that is assigned to that variable or member.
bool isAssignedFrom(const clang::FunctionDecl *function, const Path &path, const clang::Stmt *part);
// A name that the function declares or uses.
bool usesName(const clang::FunctionDecl *function, llvm::StringRef name);
// A jump to a label may not pass a variable that a fix declares.
bool usesGoto(const clang::FunctionDecl *function);

} // namespace devsan::analyzer
