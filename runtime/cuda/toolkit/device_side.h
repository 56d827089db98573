// The host's functions that kernels call too. Clang tells functions by their side; NVIDIA's headers, which are not here, declare those of
// the device. Nothing runs them.
#pragma once
#include <assert.h>
#include <stdio.h>

// What nvcc answers about a lambda that is marked for both sides, or for the device. Clang compiles each of them for both.
#define __nv_is_extended_host_device_lambda_closure_type(type) true
#define __nv_is_extended_device_lambda_closure_type(type) true

#define DEVSAN_1(name) __device__ float name##f(float x);
#define DEVSAN_2(name) __device__ float name##f(float x, float y);
DEVSAN_1(acos) DEVSAN_1(acosh) DEVSAN_1(asin) DEVSAN_1(asinh) DEVSAN_1(atan) DEVSAN_1(atanh) DEVSAN_1(cbrt) DEVSAN_1(ceil)
DEVSAN_1(cos) DEVSAN_1(cosh) DEVSAN_1(cospi) DEVSAN_1(erf) DEVSAN_1(erfc) DEVSAN_1(erfcinv) DEVSAN_1(erfcx) DEVSAN_1(erfinv)
DEVSAN_1(exp) DEVSAN_1(exp10) DEVSAN_1(exp2) DEVSAN_1(expm1) DEVSAN_1(fabs) DEVSAN_1(floor) DEVSAN_1(j0) DEVSAN_1(j1)
DEVSAN_1(lgamma) DEVSAN_1(log) DEVSAN_1(log10) DEVSAN_1(log1p) DEVSAN_1(log2) DEVSAN_1(logb) DEVSAN_1(nearbyint)
DEVSAN_1(normcdf) DEVSAN_1(normcdfinv) DEVSAN_1(rcbrt) DEVSAN_1(rint) DEVSAN_1(round) DEVSAN_1(sin) DEVSAN_1(sinh)
DEVSAN_1(sinpi) DEVSAN_1(sqrt) DEVSAN_1(tan) DEVSAN_1(tanh) DEVSAN_1(tgamma) DEVSAN_1(trunc) DEVSAN_1(y0) DEVSAN_1(y1)
DEVSAN_2(atan2) DEVSAN_2(copysign) DEVSAN_2(fdim) DEVSAN_2(fmax) DEVSAN_2(fmin) DEVSAN_2(fmod) DEVSAN_2(hypot)
DEVSAN_2(nextafter) DEVSAN_2(pow) DEVSAN_2(remainder)
#undef DEVSAN_1
#define DEVSAN_1(name) __device__ double name(double x);
DEVSAN_1(cospi) DEVSAN_1(cyl_bessel_i0) DEVSAN_1(cyl_bessel_i1) DEVSAN_1(erfcinv) DEVSAN_1(erfcx) DEVSAN_1(erfinv)
DEVSAN_1(normcdf) DEVSAN_1(normcdfinv) DEVSAN_1(rcbrt) DEVSAN_1(sinpi)
#undef DEVSAN_1
#undef DEVSAN_2
__device__ float fmaf(float x, float y, float z);
__device__ float frexpf(float x, int *exponent);
__device__ int ilogbf(float x);
__device__ float ldexpf(float x, int exponent);
__device__ long lrintf(float x);
__device__ long long llrintf(float x);
__device__ long lroundf(float x);
__device__ long long llroundf(float x);
__device__ float modff(float x, float *whole);
__device__ float powif(float x, int y);
__device__ double powi(double x, int y);
__device__ float remquof(float x, float y, int *quotient);
__device__ float scalbnf(float x, int exponent);
__device__ void sincosf(float x, float *sine, float *cosine);
__device__ void sincos(double x, double *sine, double *cosine);
__device__ int __isfinited(double x);
__device__ int __signbitd(double x);

#include <__clang_cuda_math_forward_declares.h>

#include <__clang_cuda_cmath.h>

extern "C" {
__device__ void __assert_fail(const char *assertion, const char *file, unsigned line, const char *function);
__device__ int printf(const char *format, ...);
__device__ void *malloc(size_t size);
__device__ void free(void *memory);
__device__ void *memcpy(void *to, const void *from, size_t size);
__device__ void *memset(void *memory, int value, size_t size);
}
