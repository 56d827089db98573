#pragma once
#include "cuda_runtime.h"

struct __half_raw {
  unsigned short x;
};
struct __half2_raw {
  unsigned short x, y;
};
struct __half {
  unsigned short __x;
  __half() = default;
  __host__ __device__ __half(const __half_raw &raw);
  __host__ __device__ __half(float value);
  __host__ __device__ __half(double value);
  __host__ __device__ __half(int value);
  __host__ __device__ operator float() const;
  __host__ __device__ operator __half_raw() const;
  __host__ __device__ __half &operator=(const __half_raw &raw);
  __host__ __device__ __half &operator=(float value);
};
struct __half2 {
  __half x, y;
  __half2() = default;
  __host__ __device__ __half2(const __half &a, const __half &b);
  __host__ __device__ __half2(const __half2_raw &raw);
  __host__ __device__ operator __half2_raw() const;
};
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

// LibTorch's numbers convert by these on the host, too.
inline __host__ __device__ __half __float2half_rn(float value) {
  return __half_raw{__builtin_bit_cast(unsigned short, static_cast<_Float16>(value))};
}
inline __host__ __device__ __half __float2half(float value) { return __float2half_rn(value); }
inline __host__ __device__ float __half2float(__half value) {
  return static_cast<float>(__builtin_bit_cast(_Float16, value.__x));
}
inline __host__ __device__ __half::__half(const __half_raw &raw) : __x(raw.x) {}
inline __host__ __device__ __half::__half(float value) : __half(__float2half_rn(value)) {}
inline __host__ __device__ __half::__half(double value)
    : __x(__builtin_bit_cast(unsigned short, static_cast<_Float16>(value))) {}
inline __host__ __device__ __half::__half(int value) : __half(static_cast<float>(value)) {}
inline __host__ __device__ __half::operator float() const { return __half2float(*this); }
inline __host__ __device__ __half::operator __half_raw() const { return {__x}; }
inline __host__ __device__ __half &__half::operator=(const __half_raw &raw) {
  __x = raw.x;
  return *this;
}
inline __host__ __device__ __half &__half::operator=(float value) { return *this = __half(value); }
#define DEVSAN_BY_INTEGER(half, name, type, integer)                                               \
  __host__ __device__ half __##integer##2##name##_rn(type value);                                  \
  __host__ __device__ half __##integer##2##name##_rz(type value);                                  \
  __host__ __device__ type __##name##2##integer##_rn(half value);                                  \
  __host__ __device__ type __##name##2##integer##_rz(half value);
#define DEVSAN_BY_INTEGERS(half, name)                                                             \
  DEVSAN_BY_INTEGER(half, name, int, int)                                                          \
  DEVSAN_BY_INTEGER(half, name, unsigned int, uint)                                                \
  DEVSAN_BY_INTEGER(half, name, short, short)                                                      \
  DEVSAN_BY_INTEGER(half, name, unsigned short, ushort)                                            \
  DEVSAN_BY_INTEGER(half, name, long long, ll)                                                     \
  DEVSAN_BY_INTEGER(half, name, unsigned long long, ull)
DEVSAN_BY_INTEGERS(__half, half)
__host__ __device__ __half2 __floats2half2_rn(float a, float b);
__host__ __device__ __half2 __float2half2_rn(float value);
__host__ __device__ float2 __half22float2(__half2 value);
__host__ __device__ __half2 __halves2half2(__half a, __half b);
__host__ __device__ __half __low2half(__half2 value);
__host__ __device__ __half __high2half(__half2 value);
__host__ __device__ __half __ushort_as_half(unsigned short bits);
__host__ __device__ unsigned short __half_as_ushort(__half value);
__device__ __half atomicAdd(__half *address, __half value);
__device__ __half2 atomicAdd(__half2 *address, __half2 value);
