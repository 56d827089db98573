// Variables that outlive every call and hold something that belongs to one device: tensors,
// streams, events, handles of CUDA's libraries, device memory, properties. For each of them, where
// the thing is made and whether anything in the file tells the devices apart.
#pragma once

#include "analyzer/facts/cuda_facts.h"
#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

std::vector<StaticState> staticDeviceState(const CudaProgram &program, clang::ASTContext &context);

} // namespace devsan::analyzer
