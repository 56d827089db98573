#pragma once
#include <ATen/cuda/CUDAEvent.h>
#include <hip/torch_names.h>
