// The blocks of PyTorch's caching allocator, as far as streams use them
// (streams/stream_accesses.h).
#pragma once

namespace devsan::sim {

// From now on the allocator tells of its blocks; again and again without effect. Not before
// LibTorch has initialized CUDA. The caller holds no lock.
void followBlocks();

} // namespace devsan::sim
