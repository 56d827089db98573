#pragma once
#include <c10/cuda/CUDACachingAllocator.h>
#include <hip/torch_names.h>
