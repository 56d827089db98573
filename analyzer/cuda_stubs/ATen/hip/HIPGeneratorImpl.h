#pragma once
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <hip/torch_names.h>
