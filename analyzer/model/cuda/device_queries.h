// Where a function asks what a device is like: properties, attributes, the number of its
// multiprocessors. Facts on top of CudaProgram's; the checks on device 0 and on state that outlives
// a call read them.
#pragma once

#include "analyzer/facts/cuda_facts.h"
#include "analyzer/model/cuda/cuda_work.h"

#include <llvm/ADT/SmallPtrSet.h>

namespace devsan::analyzer {

class DeviceQueries {
public:
  explicit DeviceQueries(const CudaProgram &program);

  std::vector<PropertyQuery> of(const CudaWork &work) const;

private:
  // Functions of the program that hand a parameter on as the device of a query.
  struct Wrapper {
    unsigned parameter;
    const clang::Expr *query;
  };
  llvm::DenseMap<const clang::FunctionDecl *, Wrapper> wrappers_;
};

// A call that asks a device for what it is like, or for a stream, handle or memory of the current
// one, and not for what all devices share, such as their number.
bool asksDevice(const clang::CallExpr *call);
// The argument that names the device; null where it is the current one.
const clang::Expr *askedDevice(const clang::CallExpr *call);
// 0, written out or kept in a variable that is never anything else.
bool isZeroDevice(const clang::Expr *device, const CudaWork &work);
// What names a device that one function asks for at run time: x.get_device(), current_device(), a
// variable that cudaGetDevice filled.
class RunTimeDevices {
public:
  explicit RunTimeDevices(const CudaWork &work);
  bool mentionedIn(const clang::Stmt *statement) const;

private:
  llvm::SmallPtrSet<const clang::ValueDecl *, 4> filled_;
};

} // namespace devsan::analyzer
