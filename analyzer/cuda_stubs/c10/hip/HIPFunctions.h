#pragma once
#include <c10/cuda/CUDAFunctions.h>
#include <hip/torch_names.h>
