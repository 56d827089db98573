#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>

namespace devsan::analyzer {

// `step % 100 == 0`, `(step & 63) == 0`, also where a variable or a function of the file holds it.
bool hasRemainder(const clang::Expr *condition);

// Whether `branch`, of a condition in a loop, runs on some of its turns only: every so many, when a
// counter or a clock that it sets back says so, or, where it is run `when_true`, on one turn.
// `statement` is in the branch.
bool isOccasional(clang::ASTContext &context, const clang::Expr *condition, bool when_true,
                  const clang::Stmt *branch, const clang::Stmt *statement);

} // namespace devsan::analyzer
