// Registers kernels as TORCH_LIBRARY_IMPL does, for the life of the process: the simulator is
// loaded after the program, so its static objects would be destroyed before the program's, and a
// tensor in a global's destructor would find no kernels.
//
// Registration has phases, because later ones look at what is there: over a CUDA build's own
// kernels (cuda_build/kernels.cpp), the kernels that the simulator has of its own, then the
// fallback where a composite kernel would come before it, then what wraps them. Within a phase the
// order of the files is no matter.
#pragma once

#include <torch/library.h>

#include "runtime/operators/operator_wrapper.h"

#define DEVSAN_SIM_OVER_CUDA 1000
#define DEVSAN_SIM_KERNELS 1001
#define DEVSAN_SIM_FALLBACKS 1002
#define DEVSAN_SIM_WRAPPERS 1003

namespace devsan::sim {

struct AtLoad {
  explicit AtLoad(void (*action)()) {
    runtime::SilentWarnings silent;
    c10::WarningUtils::WarningHandlerGuard guard(&silent);
    action();
  }
};

} // namespace devsan::sim

#define DEVSAN_SIM_CONCAT_(a, b) a##b
#define DEVSAN_SIM_CONCAT(a, b) DEVSAN_SIM_CONCAT_(a, b)

// DEVSAN_SIM_AT_LOAD(DEVSAN_SIM_WRAPPERS) { ... }
#define DEVSAN_SIM_AT_LOAD(phase) DEVSAN_SIM_AT_LOAD_(phase, __COUNTER__)
#define DEVSAN_SIM_AT_LOAD_(phase, id)                                                             \
  static void DEVSAN_SIM_CONCAT(atLoad, id)();                                                     \
  __attribute__((init_priority(phase))) static const devsan::sim::AtLoad DEVSAN_SIM_CONCAT(        \
      at_load, id)(&DEVSAN_SIM_CONCAT(atLoad, id));                                                \
  static void DEVSAN_SIM_CONCAT(atLoad, id)()

#define DEVSAN_SIM_LIBRARY_IMPL(ns, key, m)                                                        \
  DEVSAN_SIM_LIBRARY_IMPL_(ns, key, m, DEVSAN_SIM_KERNELS, __COUNTER__)
#define DEVSAN_SIM_FALLBACK_IMPL(ns, key, m)                                                       \
  DEVSAN_SIM_LIBRARY_IMPL_(ns, key, m, DEVSAN_SIM_FALLBACKS, __COUNTER__)
#define DEVSAN_SIM_LIBRARY_IMPL_(ns, key, m, phase, id)                                            \
  static void DEVSAN_SIM_CONCAT(registerKernels, id)(torch::Library & m);                          \
  DEVSAN_SIM_AT_LOAD(phase) {                                                                      \
    DEVSAN_SIM_CONCAT(registerKernels, id)                                                         \
    (*new torch::Library(torch::Library::IMPL, #ns, c10::DispatchKey::key, __FILE__, __LINE__));   \
  }                                                                                                \
  static void DEVSAN_SIM_CONCAT(registerKernels, id)(torch::Library & m)
