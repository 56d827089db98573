// The edits of fixes, by what they are to do. Empty where they cannot be made: text can be edited
// where the user wrote it, not inside a macro.
#pragma once

#include "analyzer/facts/finding.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/Basic/Diagnostic.h>
#include <llvm/ADT/SmallVector.h>

namespace devsan::analyzer {

using Hints = llvm::SmallVector<clang::FixItHint, 4>;

// As data, and back.
Edits editsOf(llvm::ArrayRef<clang::FixItHint> hints);
Hints hintsOf(const Edits &edits);

bool isEditable(const clang::Expr *expr);

// The factory makes its tensor on that device; its dtype stays what it is.
Hints deviceGiven(clang::ASTContext &context, const clang::Expr *factory,
                  const std::string &device);
Hints copiedTo(const clang::Expr *call, const std::string &device);
Hints argumentAppended(const clang::Expr *call, const std::string &argument);
Hints assignedBack(clang::ASTContext &context, const clang::Expr *call);
Hints madeThere(clang::ASTContext &context, const clang::Expr *move, const std::string &device);
Hints deviceNamed(const clang::Expr *request, const clang::Expr *spelled, const std::string &device,
                  bool replace);
Hints currentDeviceAsked(clang::ASTContext &context, const clang::Expr *query,
                         const clang::Expr *device);
Hints ownPutBack(clang::ASTContext &context, const clang::Expr *gather);

} // namespace devsan::analyzer
