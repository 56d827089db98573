// Watches the calls of CUDA that the shim forwards (calls.h) and records what they do to the host:
// copies, waits, contexts, launches. A call that an operator under observation makes is that
// operator's doing and no event of its own.
#pragma once

#include <cstdint>

namespace devsan::runtime {

// What CUDA's functions did on one thread while an operator ran.
struct CudaActivity {
  bool blocks = false;
  std::uint64_t blocked_ns = 0;

  // The innermost of the thread, null outside of operators.
  static CudaActivity *&current();
};

// From now on the calls are told. Does nothing without the shim.
void observeCuda();

// Nothing is recorded any more.
void stopObservingCuda();

// In a forked child.
void forgetCuda();

// True once a call of CUDA has been seen, where LibTorch is a CUDA build: then what operators do is
// known from their calls.
bool cudaIsObserved();

} // namespace devsan::runtime
