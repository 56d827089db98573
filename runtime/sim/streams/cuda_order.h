// The streams' order as CUDA's stand-in driver tells it: what reaches the driver without an
// operator of LibTorch, or, with a CUDA build of it, at all.
#pragma once

#include "runtime/cuda/standin/stream_order.h"

namespace devsan::sim {

extern const DevSanStreamOrder kOrderOfCudaStreams;

} // namespace devsan::sim
