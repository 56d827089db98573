#pragma once
#include <ATen/cuda/CUDAContext.h>
#include <hip/torch_names.h>
