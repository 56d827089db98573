#pragma once
#ifdef __CUDA__
// LibTorch's headers ask for nvcc's macros, not for clang's.
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 93
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __grid_constant__
#else
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __launch_bounds__(...)
#define __grid_constant__
#endif
// What the device's compiler takes of a kernel and no host sees.
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#define __inline_hint__
#define __nv_pure__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))

// After the macros: clang puts headers of its own, which use them, before the library's.
#include "channel_descriptor.h"
#include "cuda_runtime_api.h"
#include "driver_functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
// What clang makes of `<<<grid, block, shared, stream>>>`.
extern "C" cudaError_t cudaConfigureCall(dim3 gridDim, dim3 blockDim, size_t sharedMem = 0, cudaStream_t stream = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem = 0, void *stream = 0);

extern const uint3 threadIdx;
extern const uint3 blockIdx;
extern const dim3 blockDim;
extern const dim3 gridDim;
constexpr int warpSize = 32;

#define DEVSAN_MAKE(name, T)                                                                       \
  __host__ __device__ constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                \
  __host__ __device__ constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }        \
  __host__ __device__ constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
DEVSAN_MAKE(int, int)
DEVSAN_MAKE(uint, unsigned int)
DEVSAN_MAKE(float, float)
DEVSAN_MAKE(double, double)
DEVSAN_MAKE(longlong, long long)
#undef DEVSAN_MAKE

#ifdef __CUDA__
// nvcc has these without a header, on the host too.
#define DEVSAN_LEAST_AND_GREATEST(T)                                                               \
  __host__ __device__ inline T min(T x, T y) { return y < x ? y : x; }                             \
  __host__ __device__ inline T max(T x, T y) { return x < y ? y : x; }
DEVSAN_LEAST_AND_GREATEST(int)
DEVSAN_LEAST_AND_GREATEST(unsigned int)
DEVSAN_LEAST_AND_GREATEST(long)
DEVSAN_LEAST_AND_GREATEST(unsigned long)
DEVSAN_LEAST_AND_GREATEST(long long)
DEVSAN_LEAST_AND_GREATEST(unsigned long long)
DEVSAN_LEAST_AND_GREATEST(float)
DEVSAN_LEAST_AND_GREATEST(double)
#undef DEVSAN_LEAST_AND_GREATEST
#define DEVSAN_MIXED(T, S, U)                                                                      \
  __host__ __device__ inline U min(T x, S y) { return min(static_cast<U>(x), static_cast<U>(y)); } \
  __host__ __device__ inline U min(S x, T y) { return min(static_cast<U>(x), static_cast<U>(y)); } \
  __host__ __device__ inline U max(T x, S y) { return max(static_cast<U>(x), static_cast<U>(y)); } \
  __host__ __device__ inline U max(S x, T y) { return max(static_cast<U>(x), static_cast<U>(y)); }
DEVSAN_MIXED(int, unsigned int, unsigned int)
DEVSAN_MIXED(long, unsigned long, unsigned long)
DEVSAN_MIXED(long long, unsigned long long, unsigned long long)
DEVSAN_MIXED(float, double, double)
#undef DEVSAN_MIXED
#endif

__host__ __device__ float rsqrtf(float x);
__host__ __device__ double rsqrt(double x);

#include "device_functions.h"
#endif
