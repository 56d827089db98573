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
