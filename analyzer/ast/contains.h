// A search through a statement and its parts.
#pragma once

#include <clang/AST/Expr.h>
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

// The statement is the name of the variable or member, and no more.
inline bool isNameOf(const clang::Stmt *part, const clang::ValueDecl *decl) {
  const auto *member = llvm::dyn_cast<clang::MemberExpr>(part);
  const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(part);
  return (member && member->getMemberDecl() == decl) || (reference && reference->getDecl() == decl);
}

// The statement, or a part of it, names the variable or member.
inline bool names(const clang::Stmt *statement, const clang::ValueDecl *decl) {
  return contains(statement, [decl](const clang::Stmt *part) { return isNameOf(part, decl); });
}

// Control may come to a part of it past what stands before.
inline bool holdsEntry(const clang::Stmt *statement) {
  return contains(statement, [](const clang::Stmt *part) {
    return llvm::isa<clang::SwitchCase, clang::LabelStmt>(part);
  });
}

} // namespace devsan::analyzer
