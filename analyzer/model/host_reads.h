// Where host code follows a pointer or an accessor into a tensor's memory. Facts only; the check on
// host access asks where the tensor is.
#pragma once

#include "analyzer/facts/program.h"

#include <clang/AST/Decl.h>

namespace devsan::analyzer {

// One for each place where a pointer is taken. Arithmetic on pointers, and passing them on, follows
// nothing; code for the device is not the host's.
std::vector<HostRead> hostReads(const clang::FunctionDecl *function);

} // namespace devsan::analyzer
