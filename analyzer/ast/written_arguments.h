// What a call may set of what it is given.
#pragma once

#include <clang/AST/Expr.h>
#include <llvm/ADT/STLFunctionalExtras.h>

namespace devsan::analyzer {

// References and pointers to what is not const. An operator of LibTorch writes into the tensor,
// wherever that is, and sets none; of the standard library's functions few do.
bool isWrittenThrough(clang::QualType parameter);
void forEachWritten(const clang::CallExpr *call,
                    llvm::function_ref<void(const clang::Expr *)> visit);

} // namespace devsan::analyzer
