#pragma once
#include <c10/cuda/CUDAStream.h>
#include <hip/torch_names.h>
