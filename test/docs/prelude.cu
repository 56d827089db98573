// Stands after prelude.cpp before the CUDA examples.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

__global__ void kernel(float *data, int64_t n) {}
constexpr int blocks = 8, threads = 256;
