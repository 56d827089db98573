// The handles by which cuBLAS and kin work on the device where they were made.
#pragma once

#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

class LibraryHandles {
public:
  // Of a library that is told the stream in each call, as cuBLASLt is: where it takes that.
  static std::optional<unsigned> toldStream(const clang::FunctionDecl *callee);
  // A call where no guard is live, which may make a handle on the current device.
  void noteMade(const clang::CallExpr *call);
  // Such a variable: a handle, or what holds one, as a smart pointer or a class of the program's.
  void noteDeclared(const clang::VarDecl *variable);
  // Its handle is one that the function itself made so, or takes for the current device; not one
  // that it is given, or keeps, nor one made under a guard, which has the guard's device ever
  // after.
  bool isOnCurrentDevice(const clang::CallExpr *call, const CudaWork &work) const;

private:
  llvm::SmallPtrSet<const clang::VarDecl *, 2> made_;
};

} // namespace devsan::analyzer
