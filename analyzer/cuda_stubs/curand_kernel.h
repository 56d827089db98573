#pragma once
#include "cuda_runtime.h"
#include "curand.h"

struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned int STATE;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
struct curandStateXORWOW {
  unsigned int d, v[5];
};
typedef struct curandStateXORWOW curandState;
typedef struct curandStateXORWOW curandState_t;
struct curandStateMRG32k3a {
  unsigned int s1[3], s2[3];
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

#define DEVSAN_GENERATOR(State)                                                                    \
  __device__ void curand_init(unsigned long long seed, unsigned long long sequence,                \
                              unsigned long long offset, State *state);                            \
  __device__ void skipahead(unsigned long long n, State *state);                                   \
  __device__ unsigned int curand(State *state);                                                    \
  __device__ float curand_uniform(State *state);                                                   \
  __device__ double curand_uniform_double(State *state);                                           \
  __device__ float curand_normal(State *state);                                                    \
  __device__ double curand_normal_double(State *state);                                            \
  __device__ float2 curand_normal2(State *state);                                                  \
  __device__ float curand_log_normal(State *state, float mean, float deviation);                   \
  __device__ unsigned int curand_poisson(State *state, double lambda);
DEVSAN_GENERATOR(curandStatePhilox4_32_10_t)
DEVSAN_GENERATOR(curandState_t)
DEVSAN_GENERATOR(curandStateMRG32k3a_t)
#undef DEVSAN_GENERATOR
__device__ uint4 curand4(curandStatePhilox4_32_10_t *state);
__device__ float4 curand_uniform4(curandStatePhilox4_32_10_t *state);
__device__ double2 curand_uniform2_double(curandStatePhilox4_32_10_t *state);
__device__ float4 curand_normal4(curandStatePhilox4_32_10_t *state);
__device__ double2 curand_normal2_double(curandStatePhilox4_32_10_t *state);
