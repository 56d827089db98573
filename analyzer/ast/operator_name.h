// How findings name what is called: as those of a run do, so that the two can be compared.
#pragma once

#include <clang/AST/Expr.h>

#include <string>

namespace devsan::analyzer {

// "aten::item" of ATen's operators, "print" where a tensor is printed, "cudaStreamSynchronize" of
// CUDA's functions and LibTorch's names for them, else the qualified name: "ns::kernel". Empty
// where it is not known what is called, or which operator that comes to.
std::string operatorName(const clang::Expr *call);

} // namespace devsan::analyzer
