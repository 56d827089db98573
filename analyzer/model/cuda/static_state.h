// Variables that outlive every call and hold something that belongs to one device: tensors,
// streams, events, handles of CUDA's libraries, device memory, properties. For each of them, where
// the thing is made and whether anything in the file tells the devices apart. Facts only; the check
// on static state judges them.
#pragma once

#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

enum class DeviceThing { kTensor, kStream, kEvent, kHandle, kMemory, kProperties };

struct StaticState {
  const clang::VarDecl *variable;
  DeviceThing thing;
  const clang::Expr *made;     // the call that makes it, for whatever device is current there
  bool one_per_device = false; // something is kept, or made anew, for each device
};

std::vector<StaticState> staticDeviceState(const CudaProgram &program, clang::ASTContext &context);

} // namespace devsan::analyzer
