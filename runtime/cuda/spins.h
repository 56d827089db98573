// Waiting by asking: a loop of cudaEventQuery or cudaStreamQuery keeps the host as busy as a wait.
// Called by the observer, on the program's threads; the state is the thread's own.
#pragma once

#include "runtime/cuda/calls.h"

#include <cstdint>

namespace devsan::runtime::cuda {

// A wait that is over.
struct Spin {
  const char *function = nullptr; // the one that was asked; null where there was no wait
  int device = -1;
  std::uint32_t stack = 0;
  std::uint64_t blocked_ns = 0;
  std::uint64_t end_ns = 0;
};

// After a call of class query. Gives the wait that it ends.
Spin noteQuery(const DevSanCudaCall &call, std::uint64_t end_ns, int device);

// Whether the thread's last call asked and was told to wait.
bool isSpinning();

// Before any other call on this thread.
Spin endSpin();

} // namespace devsan::runtime::cuda
