// What happens when host code touches device memory: the access is told to the observer (or on
// stderr), the pages of the block are opened so that the program goes on, and the next simulated
// operator closes them again.
//
// The SIGSEGV handler itself does next to nothing: it makes the interrupted thread call
// reportAccess() on its own stack, as if the touching instruction had called it. So the report may
// lock, allocate and unwind, and a small alternative signal stack is enough. The program's own
// handlers, set before or after, get every fault that is not ours.
#pragma once

namespace devsan::sim {

// Takes over SIGSEGV; once, when the arena is made and protected.
void installFaultHandler();

void closeOpenPages();

// What device_memory.cpp knows of this thread, and of this process.
bool insideKernel();
bool memoryBelongsToParent();

} // namespace devsan::sim
