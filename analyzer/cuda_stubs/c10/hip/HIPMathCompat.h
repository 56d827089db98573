#pragma once
#include <c10/cuda/CUDAMathCompat.h>
#include <hip/torch_names.h>
