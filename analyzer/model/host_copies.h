// Copies between a device and the host that go on while the host does, and what the function does
// with the host's memory afterwards: in the order of the source, with branches told apart. Facts
// only; the check on races judges them.
#pragma once

#include "analyzer/facts/cuda_facts.h"
#include "analyzer/model/cuda/cuda_work.h"
#include "analyzer/model/flow.h"

namespace devsan::analyzer {

// `facts` may be null: then only CUDA's own functions are seen, not tensors' methods.
std::vector<CopyStep> copySteps(const CudaWork &work, const FunctionFacts *facts);
// Both read the same.
bool sameText(const clang::Expr *a, const clang::Expr *b, const clang::ASTContext &context);
// Both name one stream, as far as their text and variables tell.
bool sameStream(const clang::Expr *a, const clang::Expr *b, const CudaWork &work,
                const clang::ASTContext &context);

// The argument for the parameter `non_blocking` is `true`.
bool isNonBlocking(const clang::CallExpr *call);
// Waits on the host, or may do so.
bool mayWait(const clang::CallExpr *call);

} // namespace devsan::analyzer
