// What CUDA's driver knows of a kernel that is launched: its name and where its parameters lie, so
// that the memory that they point to can be told. From CUDA 12.4 on; before, nothing is known.
// Called after the launch, on the program's threads; what is known of a kernel is kept.
#pragma once

#include "runtime/cuda/calls.h"

namespace devsan::runtime::cuda {

// "" where it is not known.
const char *kernelName(const DevSanCudaCall &call);

bool hasLayout(const DevSanCudaCall &call);

struct ForeignMemory {
  int device = -1;
  const void *address = nullptr;
};

// Memory of a device other than `device` that one of the arguments points to, directly or in a
// struct that is passed by value; of device -1 where there is none.
ForeignMemory foreignMemory(const DevSanCudaCall &call, int device);

} // namespace devsan::runtime::cuda
