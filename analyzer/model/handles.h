// What the handles of the facts are: nodes of clang's tree.
#pragma once

#include "analyzer/facts/handle.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <string>

namespace devsan::analyzer {

inline const clang::Expr *exprOf(Code code) {
  return code.as<clang::Expr>();
}
inline const clang::ValueDecl *declOf(Variable variable) {
  return variable.as<clang::ValueDecl>();
}
inline const clang::FunctionDecl *functionOf(Function function) {
  return function.as<clang::FunctionDecl>();
}

// What the code calls it: "[a, b]" for a variable that is taken apart.
std::string nameOfVariable(const clang::ValueDecl *variable);

} // namespace devsan::analyzer
