#pragma once
#include "cuda_fp16.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
};
struct __nv_bfloat16 {
  unsigned short __x;
  __nv_bfloat16() = default;
  __host__ __device__ __nv_bfloat16(const __nv_bfloat16_raw &raw);
  __host__ __device__ __nv_bfloat16(float value);
  __host__ __device__ __nv_bfloat16(double value);
  __host__ __device__ operator float() const;
  __host__ __device__ operator __nv_bfloat16_raw() const;
};
struct __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __host__ __device__ __nv_bfloat162(const __nv_bfloat16 &a, const __nv_bfloat16 &b);
  __host__ __device__ __nv_bfloat162(const __nv_bfloat162_raw &raw);
  __host__ __device__ operator __nv_bfloat162_raw() const;
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

// LibTorch's numbers convert by these on the host, too. To the nearest, of two equally near ones to the even one.
inline __host__ __device__ __nv_bfloat16 __float2bfloat16_rn(float value) {
  const unsigned int bits = __builtin_bit_cast(unsigned int, value);
  const unsigned int rounded = bits + 0x7fffu + (bits >> 16 & 1);
  return __nv_bfloat16_raw{static_cast<unsigned short>(value == value ? rounded >> 16 : 0x7fffu)};
}
inline __host__ __device__ __nv_bfloat16 __float2bfloat16(float value) { return __float2bfloat16_rn(value); }
inline __host__ __device__ float __bfloat162float(__nv_bfloat16 value) {
  return __builtin_bit_cast(float, static_cast<unsigned int>(value.__x) << 16);
}
inline __host__ __device__ __nv_bfloat16::__nv_bfloat16(const __nv_bfloat16_raw &raw) : __x(raw.x) {}
inline __host__ __device__ __nv_bfloat16::__nv_bfloat16(float value) : __nv_bfloat16(__float2bfloat16_rn(value)) {}
inline __host__ __device__ __nv_bfloat16::__nv_bfloat16(double value) : __nv_bfloat16(static_cast<float>(value)) {}
inline __host__ __device__ __nv_bfloat16::operator float() const { return __bfloat162float(*this); }
inline __host__ __device__ __nv_bfloat16::operator __nv_bfloat16_raw() const { return {__x}; }
DEVSAN_BY_INTEGERS(__nv_bfloat16, bfloat16)
__host__ __device__ __nv_bfloat162 __floats2bfloat162_rn(float a, float b);
__host__ __device__ float2 __bfloat1622float2(__nv_bfloat162 value);
