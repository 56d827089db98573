#pragma once
#include "vector_types.h"

typedef struct float2 cuFloatComplex;
typedef struct double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;
