#pragma once
#include <ATen/cuda/CUDAUtils.h>
#include <hip/torch_names.h>
