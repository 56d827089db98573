// What the observers of the simulator share (runtime/sim/api/observers.h): finding its functions,
// which are there in simulated runs alone, and recording on the program's threads without being
// seen.
#pragma once

#include "runtime/record/recorder.h"

#include <dlfcn.h>

namespace devsan::runtime {

// Calls the simulator's function of that name, a setter of observers, where there is one.
template <typename... Observers> void setObservers(const char *setter, Observers... observers) {
  if (auto set = reinterpret_cast<void (*)(Observers...)>(dlsym(RTLD_DEFAULT, setter)))
    set(observers...);
}

// Whether LibTorch is a CUDA build: then the calls of CUDA are PyTorch's own.
inline bool simulatesCudaBuild() {
  return dlsym(RTLD_DEFAULT, "devsan_sim_has_cuda_calls") != nullptr;
}

// Devices are simulated, and LibTorch is a CPU build: its operators make no calls of CUDA, though
// the program may.
inline bool simulatesCpuBuild() {
  return recorder().simulated() && !simulatesCudaBuild();
}

// Runs `record` unless the runtime itself did what is observed. It may run out of memory: the
// program's call goes on all the same.
template <typename Record> void recordUnlessInternal(Record record) {
  if (InsideRuntime::active())
    return;
  InsideRuntime inside;
  try {
    record();
  } catch (...) {
  }
}

} // namespace devsan::runtime
