// Registers kernels as TORCH_LIBRARY_IMPL does, for the life of the process: the simulator is
// loaded after the program, so its static objects would be destroyed before the program's, and a
// tensor in a global's destructor would find no kernels.
#pragma once

#include <torch/library.h>

#define DEVSAN_SIM_LIBRARY_IMPL(ns, key, m) DEVSAN_SIM_LIBRARY_IMPL_(ns, key, m, __COUNTER__)
#define DEVSAN_SIM_LIBRARY_IMPL_(ns, key, m, id) DEVSAN_SIM_LIBRARY_IMPL__(ns, key, m, id)
#define DEVSAN_SIM_LIBRARY_IMPL__(ns, key, m, id)                                                  \
  static void registerKernels##id(torch::Library &m);                                              \
  static const bool kernels_registered##id = [] {                                                  \
    auto *library =                                                                                \
        new torch::Library(torch::Library::IMPL, #ns, c10::DispatchKey::key, __FILE__, __LINE__);  \
    registerKernels##id(*library);                                                                 \
    return true;                                                                                   \
  }();                                                                                             \
  static void registerKernels##id(torch::Library &m)
