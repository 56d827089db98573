// What extensions took from LibTorch's former CUDA library.
#pragma once
#include "../cuda_runtime.h"

#include <ATen/cuda/CUDAContext.h>

struct THCState;
template <typename T> __host__ __device__ __forceinline__ T THCCeilDiv(T a, T b) { return (a + b - 1) / b; }
template <typename T> __host__ __device__ __forceinline__ T THCRoundUp(T a, T b) { return THCCeilDiv(a, b) * b; }
void *THCudaMalloc(THCState *state, size_t size);
void THCudaFree(THCState *state, void *pointer);
#define THCudaCheck(expr) C10_CUDA_CHECK(expr)
