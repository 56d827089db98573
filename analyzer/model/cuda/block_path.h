// Where in a function's blocks an expression stands.
#pragma once

#include <clang/AST/Stmt.h>
#include <llvm/ADT/SmallVector.h>

namespace devsan::analyzer {

// The blocks around an expression, outermost first, each with its statement that leads there. Only
// those that are written out, not those that a macro makes: text can be inserted before them.
struct BlockStep {
  const clang::CompoundStmt *block;
  const clang::Stmt *statement;
};
using BlockPath = llvm::SmallVector<BlockStep, 6>;

// One runs or the other, never both: the branches of an `if` or `switch`.
bool areAlternatives(const BlockPath &one, const BlockPath &other);

} // namespace devsan::analyzer
