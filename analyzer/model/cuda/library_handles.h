// The handles by which cuBLAS and kin work on the device where they were made.
#pragma once

#include "analyzer/model/cuda/cuda_work.h"

#include <llvm/ADT/SmallSet.h>

namespace devsan::analyzer {

// A variable, and of an object that member.
using HandlePlace = std::pair<const clang::VarDecl *, const clang::FieldDecl *>;
using HandlePlaces = llvm::SmallSet<HandlePlace, 2>;

class LibraryHandles {
public:
  // Of a library that is told the stream in each call, as cuBLASLt is: where it takes that.
  static std::optional<unsigned> toldStream(const clang::FunctionDecl *callee);
  // A call where no guard is live: cublasCreate(&handle) makes one on the current device.
  void noteMade(const clang::CallExpr *call);
  // Such a variable: what a function made, a smart pointer to it, an object whose constructor made
  // it.
  void noteDeclared(const clang::VarDecl *variable);
  // Its handle is one that the function itself made so, or takes for the current device; not one
  // that it is given, or keeps, nor one made under a guard, which has the guard's device ever
  // after.
  bool isOnCurrentDevice(const clang::CallExpr *call, const CudaWork &work) const;

private:
  // With the member that is the handle; null where it is the variable itself.
  HandlePlaces made_;
};

} // namespace devsan::analyzer
