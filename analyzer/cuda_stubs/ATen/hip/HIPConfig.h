#pragma once
#include <ATen/cuda/CUDAConfig.h>
#include <hip/torch_names.h>
