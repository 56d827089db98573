#pragma once
#include <c10/cuda/CUDAException.h>
#include <hip/torch_names.h>
