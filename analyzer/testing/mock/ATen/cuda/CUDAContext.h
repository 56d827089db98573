#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cublas_v2.h>

namespace at::cuda {
bool is_available();
cudaDeviceProp *getCurrentDeviceProperties();
cudaDeviceProp *getDeviceProperties(c10::DeviceIndex device);
cublasHandle_t getCurrentCUDABlasHandle(bool setup = true);
} // namespace at::cuda
