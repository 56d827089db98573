// Whether code that names a member sets it in a way that the data flow records, or not at all.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>

namespace devsan::analyzer {

// It is read, assigned, or a container that gets one more element. Anything else may set it: a
// reference, an address, an element that is assigned, code that is not understood.
bool isUseUnderstood(const clang::MemberExpr *member, clang::ASTContext &context);

} // namespace devsan::analyzer
