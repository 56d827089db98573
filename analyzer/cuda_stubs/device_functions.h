// The functions of the device, which `__host__ __device__` code and the templates of kernels call. Nothing runs them.
#pragma once
#include "cuda_runtime.h"
#include <time.h>

#ifdef __cplusplus
#define DEVSAN_OF_BITS(T)                                                                          \
  __device__ T atomicExch(T *address, T value);                                                    \
  __device__ T atomicCAS(T *address, T compare, T value);
#define DEVSAN_OF_INTEGERS(T)                                                                      \
  DEVSAN_OF_BITS(T)                                                                                \
  __device__ T atomicAdd(T *address, T value);                                                     \
  __device__ T atomicSub(T *address, T value);                                                     \
  __device__ T atomicMin(T *address, T value);                                                     \
  __device__ T atomicMax(T *address, T value);                                                     \
  __device__ T atomicAnd(T *address, T value);                                                     \
  __device__ T atomicOr(T *address, T value);                                                      \
  __device__ T atomicXor(T *address, T value);
DEVSAN_OF_INTEGERS(int)
DEVSAN_OF_INTEGERS(unsigned int)
DEVSAN_OF_INTEGERS(long long)
DEVSAN_OF_INTEGERS(unsigned long long)
DEVSAN_OF_BITS(unsigned short)
#undef DEVSAN_OF_INTEGERS
#undef DEVSAN_OF_BITS
__device__ float atomicAdd(float *address, float value);
__device__ double atomicAdd(double *address, double value);
__device__ float atomicExch(float *address, float value);
__device__ unsigned int atomicInc(unsigned int *address, unsigned int limit);
__device__ unsigned int atomicDec(unsigned int *address, unsigned int limit);
// Of half, bfloat16, vectors and the types of projects that derive from these.
template <typename T> __device__ T atomicAdd(T *address, T value);
template <typename T> __device__ T atomicExch(T *address, T value);
template <typename T> __device__ T atomicCAS(T *address, T compare, T value);
template <typename T> __device__ T atomicMax(T *address, T value);
template <typename T> __device__ T atomicMin(T *address, T value);

template <typename T> __device__ T tex1Dfetch(cudaTextureObject_t texture, int x);
template <typename T> __device__ T tex1D(cudaTextureObject_t texture, float x);
template <typename T> __device__ T tex2D(cudaTextureObject_t texture, float x, float y);
template <typename T> __device__ T tex3D(cudaTextureObject_t texture, float x, float y, float z);
template <typename T> __device__ T tex2DLod(cudaTextureObject_t texture, float x, float y, float level);
template <typename T> __device__ T tex2DLayered(cudaTextureObject_t texture, float x, float y, int layer);
template <typename T> __device__ T texCubemap(cudaTextureObject_t texture, float x, float y, float z);
template <typename T> __device__ T texCubemapLod(cudaTextureObject_t texture, float x, float y, float z, float level);
template <typename T>
__device__ T surf2Dread(cudaSurfaceObject_t surface, int x, int y, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap);
template <typename T>
__device__ void surf2Dread(T *value, cudaSurfaceObject_t surface, int x, int y, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap);
template <typename T>
__device__ void surf2Dwrite(T value, cudaSurfaceObject_t surface, int x, int y, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap);
template <typename T>
__device__ T surf3Dread(cudaSurfaceObject_t surface, int x, int y, int z, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap);
template <typename T>
__device__ void surf3Dwrite(T value, cudaSurfaceObject_t surface, int x, int y, int z,
                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap);

__device__ void cudaTriggerProgrammaticLaunchCompletion();
__device__ void cudaGridDependencySynchronize();

template <typename T> __device__ T __ldg(const T *address);
template <typename T> __device__ T __ldca(const T *address);
template <typename T> __device__ T __ldcg(const T *address);
template <typename T> __device__ T __ldcs(const T *address);
template <typename T> __device__ T __ldcv(const T *address);
template <typename T> __device__ T __ldlu(const T *address);
template <typename T> __device__ void __stcg(T *address, T value);
template <typename T> __device__ void __stcs(T *address, T value);
template <typename T> __device__ void __stwb(T *address, T value);
template <typename T> __device__ void __stwt(T *address, T value);

template <typename T> __device__ T __shfl_sync(unsigned mask, T value, int lane, int width = 32);
template <typename T> __device__ T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32);
template <typename T> __device__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T> __device__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T> __device__ unsigned __match_any_sync(unsigned mask, T value);
template <typename T> __device__ unsigned __match_all_sync(unsigned mask, T value, int *all);
__device__ unsigned __ballot_sync(unsigned mask, int predicate);
__device__ int __all_sync(unsigned mask, int predicate);
__device__ int __any_sync(unsigned mask, int predicate);
__device__ unsigned __activemask();
__device__ unsigned __reduce_add_sync(unsigned mask, unsigned value);
__device__ unsigned __reduce_min_sync(unsigned mask, unsigned value);
__device__ unsigned __reduce_max_sync(unsigned mask, unsigned value);
__device__ int __reduce_add_sync(unsigned mask, int value);
__device__ int __reduce_min_sync(unsigned mask, int value);
__device__ int __reduce_max_sync(unsigned mask, int value);

__device__ void __syncthreads();
__device__ int __syncthreads_count(int predicate);
__device__ int __syncthreads_and(int predicate);
__device__ int __syncthreads_or(int predicate);
__device__ void __syncwarp(unsigned mask = 0xffffffff);
__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ void __threadfence_system();
__device__ void __trap();
__device__ void __brkpt();
__device__ void __nanosleep(unsigned ns);
#ifdef __CUDA__ // elsewhere it would be the host's, of another type
__device__ clock_t clock();
#endif
__device__ long long clock64();
__device__ size_t __cvta_generic_to_shared(const void *address);

__device__ int __float_as_int(float x);
__device__ unsigned __float_as_uint(float x);
__device__ float __int_as_float(int x);
__device__ float __uint_as_float(unsigned x);
__device__ long long __double_as_longlong(double x);
__device__ double __longlong_as_double(long long x);
__device__ int __double2hiint(double x);
__device__ int __double2loint(double x);
__device__ double __hiloint2double(int high, int low);

__device__ int __popc(unsigned x);
__device__ int __popcll(unsigned long long x);
__device__ int __clz(int x);
__device__ int __clzll(long long x);
__device__ int __ffs(int x);
__device__ int __ffsll(long long x);
__device__ unsigned __brev(unsigned x);
__device__ unsigned long long __brevll(unsigned long long x);
__device__ unsigned __byte_perm(unsigned x, unsigned y, unsigned selector);
__device__ unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift);
__device__ unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift);
__device__ int __mul24(int x, int y);
__device__ unsigned __umul24(unsigned x, unsigned y);
__device__ int __mulhi(int x, int y);
__device__ unsigned __umulhi(unsigned x, unsigned y);
__device__ long long __mul64hi(long long x, long long y);
__device__ unsigned long long __umul64hi(unsigned long long x, unsigned long long y);
__device__ int __dp4a(int x, int y, int z);

#define DEVSAN_CONVERSIONS(name, T)                                                                \
  __device__ T name##_rd(float x);                                                                 \
  __device__ T name##_rn(float x);                                                                 \
  __device__ T name##_ru(float x);                                                                 \
  __device__ T name##_rz(float x);
DEVSAN_CONVERSIONS(__float2int, int)
DEVSAN_CONVERSIONS(__float2uint, unsigned)
DEVSAN_CONVERSIONS(__float2ll, long long)
DEVSAN_CONVERSIONS(__float2ull, unsigned long long)
#undef DEVSAN_CONVERSIONS
#define DEVSAN_CONVERSIONS(name, T, R)                                                             \
  __device__ R name##_rd(T x);                                                                     \
  __device__ R name##_rn(T x);                                                                     \
  __device__ R name##_ru(T x);                                                                     \
  __device__ R name##_rz(T x);
DEVSAN_CONVERSIONS(__double2float, double, float)
DEVSAN_CONVERSIONS(__double2int, double, int)
DEVSAN_CONVERSIONS(__double2uint, double, unsigned)
DEVSAN_CONVERSIONS(__double2ll, double, long long)
DEVSAN_CONVERSIONS(__double2ull, double, unsigned long long)
DEVSAN_CONVERSIONS(__int2float, int, float)
DEVSAN_CONVERSIONS(__uint2float, unsigned, float)
DEVSAN_CONVERSIONS(__ll2float, long long, float)
DEVSAN_CONVERSIONS(__ull2float, unsigned long long, float)
#undef DEVSAN_CONVERSIONS
#define DEVSAN_ROUNDED(suffix)                                                                     \
  __device__ float __fadd_##suffix(float x, float y);                                              \
  __device__ float __fsub_##suffix(float x, float y);                                              \
  __device__ float __fmul_##suffix(float x, float y);                                              \
  __device__ float __fdiv_##suffix(float x, float y);                                              \
  __device__ float __fmaf_##suffix(float x, float y, float z);                                     \
  __device__ float __frcp_##suffix(float x);                                                       \
  __device__ float __fsqrt_##suffix(float x);                                                      \
  __device__ double __dadd_##suffix(double x, double y);                                           \
  __device__ double __dsub_##suffix(double x, double y);                                           \
  __device__ double __dmul_##suffix(double x, double y);                                           \
  __device__ double __ddiv_##suffix(double x, double y);                                           \
  __device__ double __fma_##suffix(double x, double y, double z);                                  \
  __device__ double __dsqrt_##suffix(double x);
DEVSAN_ROUNDED(rd)
DEVSAN_ROUNDED(rn)
DEVSAN_ROUNDED(ru)
DEVSAN_ROUNDED(rz)
#undef DEVSAN_ROUNDED
__device__ float __frsqrt_rn(float x);
__device__ float __expf(float x);
__device__ float __exp10f(float x);
__device__ float __logf(float x);
__device__ float __log2f(float x);
__device__ float __log10f(float x);
__device__ float __powf(float x, float y);
__device__ float __sinf(float x);
__device__ float __cosf(float x);
__device__ float __tanf(float x);
__device__ void __sincosf(float x, float *sine, float *cosine);
__device__ float __fdividef(float x, float y);
__device__ float __saturatef(float x);
#endif
