// What a function does with tensors of its own on streams that it made: which memory is used there,
// and whether anything keeps it until that work is done. Facts only; the check on lifetimes judges
// them.
#pragma once

#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

struct SideUse {
  const clang::Expr *expr;               // the launch, or the use under a stream guard
  const clang::VarDecl *tensor;          // a local of the function, allocated on its current stream
  const clang::VarDecl *stream;          // not the current one
  const clang::Expr *recorded = nullptr; // a record_stream that names another stream
};

// The uses after which nothing in the function waits for the stream, records it or keeps the
// tensor.
std::vector<SideUse> unrecordedSideUses(const CudaWork &work);

} // namespace devsan::analyzer
