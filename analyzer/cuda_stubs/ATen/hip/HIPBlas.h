#pragma once
#include <ATen/cuda/CUDABlas.h>
#include <hip/torch_names.h>
