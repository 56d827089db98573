#pragma once
#include <ATen/cuda/CUDAContextLight.h>
#include <hip/torch_names.h>
