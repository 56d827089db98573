// LibTorch's own library for CUDA, by the names of its functions: a program may have loaded it for
// itself alone, and nothing here is linked with it.
#pragma once

#include <dlfcn.h>

namespace devsan::sim {

// nullptr where that release has no such name.
template <typename T> T *inC10Cuda(const char *name) {
  static void *library = dlopen("libc10_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  return library ? reinterpret_cast<T *>(dlsym(library, name)) : nullptr;
}

} // namespace devsan::sim
