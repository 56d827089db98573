// Records when the process gets a context on a device. Called by the observer after calls of CUDA,
// on the program's threads.
#pragma once

#include "runtime/cuda/calls.h"

namespace devsan::runtime::cuda {

// Contexts that are there already are recorded as such.
void noteEarlierContexts();

// `device` was current when the call returned, -1 where none was.
void noteContexts(const DevSanCudaCall &call, int device);

// A forked child has no contexts.
void forgetContexts();

} // namespace devsan::runtime::cuda
