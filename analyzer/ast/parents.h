#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/ParentMapContext.h>

namespace devsan::analyzer {

// The statement that another is a part of; null where that is a declaration.
inline const clang::Stmt *directParent(clang::ASTContext &context, const clang::Stmt *part) {
  const clang::DynTypedNodeList parents = context.getParents(*part);
  return parents.empty() ? nullptr : parents[0].get<clang::Stmt>();
}

// The same, out of the initialiser of a variable.
inline const clang::Stmt *parentStatement(clang::ASTContext &context, const clang::Stmt *part) {
  clang::DynTypedNodeList parents = context.getParents(*part);
  if (!parents.empty() && parents[0].get<clang::VarDecl>())
    parents = context.getParents(parents[0]);
  return parents.empty() ? nullptr : parents[0].get<clang::Stmt>();
}

} // namespace devsan::analyzer
