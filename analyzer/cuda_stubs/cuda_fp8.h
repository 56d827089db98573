#pragma once
#include "cuda_bf16.h"

typedef unsigned char __nv_fp8_storage_t;
struct __nv_fp8_e4m3 {
  __nv_fp8_storage_t __x;
  __nv_fp8_e4m3() = default;
  __host__ __device__ explicit __nv_fp8_e4m3(float value);
  __host__ __device__ explicit operator float() const;
};
struct __nv_fp8_e5m2 {
  __nv_fp8_storage_t __x;
  __nv_fp8_e5m2() = default;
  __host__ __device__ explicit __nv_fp8_e5m2(float value);
  __host__ __device__ explicit operator float() const;
};
struct __nv_fp8x2_e4m3 {
  unsigned short __x;
};
struct __nv_fp8x2_e5m2 {
  unsigned short __x;
};
struct __nv_fp8x4_e4m3 {
  unsigned int __x;
};
struct __nv_fp8x4_e5m2 {
  unsigned int __x;
};
