// What a function does with tensors of its own on streams that it made.
#pragma once

#include "analyzer/facts/cuda_facts.h"
#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

// The uses after which nothing in the function waits for the stream, records it or keeps the
// tensor.
std::vector<SideUse> unrecordedSideUses(const CudaWork &work);

} // namespace devsan::analyzer
