// What a capture is to the rest of the simulator. Each build has its own: streams and memory are
// DevSan's in a CPU build, PyTorch's in a CUDA build.
#pragma once

#include <cstdint>

#include <ATen/core/Generator.h>
#include <c10/core/Stream.h>

namespace devsan::sim {

// The stream is captured until the end, which is false where a wait has made the capture invalid.
void enterCapture(c10::Stream stream);
bool leaveCapture();

// Whether memory that is made during a capture comes from a pool of the graph's. PyTorch's own
// allocator takes part in no capture of ours: the graph keeps all memory.
bool hasPools();
// The next capture takes its memory from the pool, which its graph releases when it is gone.
void holdPool(std::uint64_t pool);
void releasePool(std::uint64_t pool);
// Which of them a block's address is from; 0: none.
std::uint64_t poolOf(const void *address);
// Differs between generators that share no state; asked where there are pools.
std::uint64_t stateOfGenerator(const at::Generator &generator);

} // namespace devsan::sim
