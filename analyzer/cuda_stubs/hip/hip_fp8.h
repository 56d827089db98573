#pragma once
#include <cuda_fp8.h>
#include <hip/hip_runtime.h>
