// The edits of fixes, by what they are to do. Empty where they cannot be made: text can be edited
// where the user wrote it, not inside a macro.
#pragma once

#include "analyzer/facts/finding.h"

#include <clang/AST/Expr.h>
#include <clang/Basic/Diagnostic.h>
#include <llvm/ADT/SmallVector.h>

namespace devsan::analyzer {

using Hints = llvm::SmallVector<clang::FixItHint, 4>;

// As data, and back.
Edits editsOf(llvm::ArrayRef<clang::FixItHint> hints);
Hints hintsOf(const Edits &edits);

bool isEditable(const clang::Expr *expr);

} // namespace devsan::analyzer
