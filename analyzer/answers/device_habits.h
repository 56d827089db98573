// What a file says about where its tensors are.
#pragma once

#include <clang/AST/ASTContext.h>

namespace devsan::analyzer {

// It moves tensors to devices that only run time tells, and none of them to the host.
bool followsDevices(clang::ASTContext &context);

} // namespace devsan::analyzer
