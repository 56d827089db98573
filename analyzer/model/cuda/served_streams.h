// Where a function takes the current stream for the work of a tensor.
#pragma once

#include "analyzer/facts/cuda_facts.h"
#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

// With no guard, and in a function without launches of its own: there the guard is what matters.
std::vector<ServedStream> bareStreams(const CudaWork &work);

} // namespace devsan::analyzer
