// Where host code follows a pointer or an accessor into a tensor's memory. Facts only; the check on
// host access asks where the tensor is.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/ExprCXX.h>

#include <vector>

namespace devsan::analyzer {

struct HostRead {
  const clang::CXXMemberCallExpr *pointer; // x.data_ptr(), x.accessor()
  const clang::Expr *access;               // the first that follows it
};

// One for each place where a pointer is taken. Arithmetic on pointers, and passing them on, follows
// nothing; code for the device is not the host's.
std::vector<HostRead> hostReads(const clang::FunctionDecl *function);

} // namespace devsan::analyzer
