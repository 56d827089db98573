#pragma once
#include <c10/cuda/CUDAGuard.h>
#include <hip/torch_names.h>
