// Host memory that the program has page-locked itself (cudaHostRegister): it counts as pinned until
// it is unregistered. Called from Python's torch.cuda.cudart() and, for every question whether a
// pointer is pinned, by the CUDA hooks; any thread.
#pragma once

#include <cstddef>

namespace devsan::sim {

// Both return CUDA's error code: 0, or why the range cannot be taken or given back.
int registerHostMemory(const void *begin, std::size_t bytes);
int unregisterHostMemory(const void *begin);

bool isRegisteredHostMemory(const void *data);

} // namespace devsan::sim
