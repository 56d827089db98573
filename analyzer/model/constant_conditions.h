// Conditions that constants decide, so that one way out of them is never taken: `if (false && x)`,
// a `switch` over a `static const`.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <clang/Analysis/CFG.h>
#include <llvm/ADT/DenseMap.h>

#include <optional>

namespace devsan::analyzer {

// What an `#if`, a macro, another header or a template's argument decides may be otherwise in
// another build: only constants of the same file count, where that has no `#if` and no macro is
// beside them.
class ConstantConditions {
public:
  explicit ConstantConditions(clang::ASTContext &context) : context_(context) {}

  // Whether no run comes from the block to the next that way, in whichever build. Loops always have
  // both ways.
  bool isNeverTaken(const clang::CFGBlock &block, unsigned way, const clang::CFGBlock &next);

private:
  // None where no constant decides; null where it is none of the cases.
  std::optional<const clang::CaseStmt *> takenCase(const clang::SwitchStmt *branch);
  std::optional<bool> truth(const clang::Expr *expr);
  std::optional<bool> computeTruth(const clang::Expr *expr);
  std::optional<llvm::APSInt> value(const clang::Expr *expr);
  bool isConstant(const clang::Expr *expr);
  bool isConstant(const clang::ValueDecl *decl);
  bool isConstantVariable(const clang::VarDecl *variable);
  bool isConstantEnum(const clang::EnumDecl *enumeration);
  bool hasMacro(clang::SourceRange code) const;
  bool isBesideMacro(const clang::Stmt *branch);
  bool hasAlternatives(clang::FileID file); // an `#if`, also the guard of a header

  clang::ASTContext &context_;
  clang::FileID file_; // of the branch that is looked at
  llvm::DenseMap<const clang::Decl *, bool> constants_;
  llvm::DenseMap<const clang::Expr *, std::optional<bool>> truths_;
  llvm::DenseMap<const clang::SwitchStmt *, std::optional<const clang::CaseStmt *>> taken_cases_;
  llvm::DenseMap<const clang::Stmt *, bool> beside_macros_;
  llvm::DenseMap<clang::FileID, bool> alternatives_;
};

} // namespace devsan::analyzer
