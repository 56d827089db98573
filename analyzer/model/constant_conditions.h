// Conditions that constants decide, so that one way out of them is never taken: `if (false && x)`,
// a `switch` over a `static const`.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Stmt.h>
#include <clang/Analysis/CFG.h>

namespace devsan::analyzer {

// Whether no run comes from the block to the next that way, in whichever build: what a macro, an
// `#if` or an argument of a template decides may be otherwise in another. Loops always have both
// ways.
bool isNeverTaken(const clang::CFGBlock &block, unsigned way, const clang::CFGBlock &next,
                  const clang::ASTContext &context);

} // namespace devsan::analyzer
