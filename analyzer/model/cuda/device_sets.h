// What a function does with the device that is current for its caller.
#pragma once

#include "analyzer/facts/cuda_facts.h"
#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

DeviceSets deviceSets(const CudaWork &work, clang::ASTContext &context);

} // namespace devsan::analyzer
