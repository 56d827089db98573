// LibTorch's names in a build for ROCm, whose sources were CUDA's before PyTorch translated them.
#pragma once
#include <hip/hip_runtime.h>

namespace c10::cuda {}
namespace c10::hip {
using namespace c10::cuda;
}
namespace at::cuda {}
namespace at::hip {
using namespace at::cuda;
using namespace c10::hip;
}

#define getCurrentHIPStream getCurrentCUDAStream
#define getDefaultHIPStream getDefaultCUDAStream
#define setCurrentHIPStream setCurrentCUDAStream
#define getCurrentHIPStreamMasqueradingAsCUDA getCurrentCUDAStream
#define getDefaultHIPStreamMasqueradingAsCUDA getDefaultCUDAStream
#define getStreamFromPoolMasqueradingAsCUDA getStreamFromPool
#define HIPStream CUDAStream
#define HIPGuard CUDAGuard
#define OptionalHIPGuard OptionalCUDAGuard
#define HIPStreamGuard CUDAStreamGuard
#define OptionalHIPStreamGuard OptionalCUDAStreamGuard
#define HIPMultiStreamGuard CUDAMultiStreamGuard
#define HIPEvent CUDAEvent
#define HIPCachingAllocator CUDACachingAllocator
#define HIPGeneratorImpl CUDAGeneratorImpl
#define getCurrentHIPBlasHandle getCurrentCUDABlasHandle
#define C10_HIP_CHECK C10_CUDA_CHECK
#define C10_HIP_KERNEL_LAUNCH_CHECK C10_CUDA_KERNEL_LAUNCH_CHECK
#define AT_HIP_CHECK AT_CUDA_CHECK
