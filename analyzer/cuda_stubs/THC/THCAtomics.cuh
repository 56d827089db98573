#pragma once
#include "THC.h"

template <typename T> __device__ void gpuAtomicAdd(T *address, T value);
template <typename T> __device__ void gpuAtomicAddNoReturn(T *address, T value);
