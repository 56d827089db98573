// Conditions that constants decide, so that one way out of them is never taken: `if (false && x)`,
// a `switch` over a `static const`.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>
#include <clang/Analysis/CFG.h>
#include <llvm/ADT/DenseMap.h>

#include <optional>
#include <vector>

namespace devsan::analyzer {

// What a macro, an `#if`, another header or a template's argument decides may be otherwise in
// another build, so only constants of the same file count that none of these touches.
class ConstantConditions {
public:
  explicit ConstantConditions(const clang::ASTContext &context) : context_(context) {}

  // Whether no run comes from the block to the next that way, in whichever build. Loops always have
  // both ways.
  bool isNeverTaken(const clang::CFGBlock &block, unsigned way, const clang::CFGBlock &next);

private:
  using Range = std::pair<unsigned, unsigned>; // offsets

  bool isNeverTaken(const clang::SwitchStmt *branch, const clang::Stmt *label);
  std::optional<bool> truth(const clang::Expr *expr);
  std::optional<llvm::APSInt> value(const clang::Expr *expr);
  bool isConstant(const clang::Expr *expr);
  bool isConstant(const clang::ValueDecl *decl);
  bool isConstantVariable(const clang::VarDecl *variable);
  bool isConstantEnum(const clang::EnumDecl *enumeration);
  bool isSettled(clang::SourceRange definition);
  bool isPreprocessed(clang::SourceRange code, bool with_macros) const;
  bool isChosenByDirective(const clang::Stmt *branch);
  const std::vector<Range> &conditionalRanges(clang::FileID file);

  const clang::ASTContext &context_;
  clang::FileID file_; // of the branch that is looked at
  llvm::DenseMap<const clang::Decl *, bool> constants_;
  llvm::DenseMap<const clang::Stmt *, bool> chosen_;
  llvm::DenseMap<clang::FileID, std::vector<Range>> conditional_ranges_;
};

} // namespace devsan::analyzer
