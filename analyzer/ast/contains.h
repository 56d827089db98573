// A search through a statement and its parts.
#pragma once

#include <clang/AST/Stmt.h>
#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {

// The statement, or a part of it, passes the test. False for null.
inline bool contains(const clang::Stmt *statement,
                     llvm::function_ref<bool(const clang::Stmt *)> test) {
  return statement &&
         (test(statement) || llvm::any_of(statement->children(), [&](const clang::Stmt *child) {
            return contains(child, test);
          }));
}

} // namespace devsan::analyzer
