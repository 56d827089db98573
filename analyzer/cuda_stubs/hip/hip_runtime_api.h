#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include <hip/hip_names.h>
