// A fix that needs a header.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/Basic/Diagnostic.h>

#include <optional>

namespace devsan::analyzer {

// Includes a header of LibTorch for CUDA, such as "c10/cuda/CUDAGuard.h", for the code at `use`:
// behind the last include that is there whenever that code is, whatever the conditions around both
// say. Nothing where there is none, and where the file may be compiled without CUDA.
std::optional<clang::FixItHint>
includeCudaHeader(clang::ASTContext &context, clang::SourceLocation use, llvm::StringRef header);

} // namespace devsan::analyzer
