// Names that a fix may use.
#pragma once

#include <clang/AST/ASTContext.h>

namespace devsan::analyzer {

// What a guard that a fix sets is called.
inline constexpr llvm::StringLiteral kGuardName = "device_guard";

// Whether this file sees a class or function by this name, such as "c10::cuda::CUDAGuard": a fix
// must not need a new include.
bool sees(clang::ASTContext &context, llvm::StringRef qualified_name);

// The file spells what it does for HIP, where LibTorch's classes have other names.
bool isForHip(const clang::ASTContext &context);

} // namespace devsan::analyzer
