// Copies between a device and the host that go on while the host does, and what the function does
// with the host's memory afterwards: in the order of the source, with branches told apart. Facts
// only; the check on races judges them.
#pragma once

#include "analyzer/model/cuda/cuda_work.h"
#include "analyzer/model/flow.h"

namespace devsan::analyzer {

// What a function does that matters to such copies.
struct CopyStep {
  enum class Kind {
    kToHost,   // an asynchronous copy into host memory
    kToDevice, // one out of host memory
    kTouch,    // the host reads the memory, or returns it
    kWait,  // the host waits for a stream, an event or a device, or may do so in a called function
    kOrder, // a stream is made to wait for another
  };
  Kind kind;
  const clang::Expr *expr;
  const clang::ValueDecl *memory = nullptr; // the variable or member that holds the host's memory
  const clang::Expr *pointer = nullptr;     // of CUDA's own functions, as written
  const clang::Expr *stream = nullptr;      // of CUDA's own functions
  // The branches around it, outermost first: a statement that branches, and which way.
  llvm::SmallVector<std::pair<const clang::Stmt *, const clang::Stmt *>, 4> branches;
};

// `facts` may be null: then only CUDA's own functions are seen, not tensors' methods.
std::vector<CopyStep> copySteps(const CudaWork &work, const FunctionFacts *facts);
// No run of the function passes both.
bool exclude(const CopyStep &a, const CopyStep &b);
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
