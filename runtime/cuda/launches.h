// Records launches of kernels: each combination of kernel, place, device and stream the first time
// that it is seen. Called by the observer after the launch, on the program's threads; a launch seen
// before costs a look into a table without a lock.
#pragma once

#include "runtime/cuda/calls.h"

namespace devsan::runtime::cuda {

// A launch like it has been recorded, and its arguments need no look. The program's device has a
// context that is known.
bool isKnownLaunch(const DevSanCudaCall &call);

void noteLaunch(const DevSanCudaCall &call, int device);

} // namespace devsan::runtime::cuda
