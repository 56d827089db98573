#pragma once
#include <cuda_runtime_api.h>

namespace c10::cuda {
void c10_cuda_check_implementation(const int error, const char *filename, const char *function_name,
                                   const unsigned int line_number, const bool include_device_assertions);
}

#define C10_CUDA_CHECK(EXPR)                                                                       \
  do {                                                                                             \
    const cudaError_t __err = EXPR;                                                                \
    c10::cuda::c10_cuda_check_implementation(static_cast<int>(__err), __FILE__, __func__,          \
                                             static_cast<unsigned int>(__LINE__), true);           \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
