// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>

// NOLINTNEXTLINE(device-static-state): one device for each process
static at::cuda::CUDAStream stream = at::cuda::getStreamFromPool(true);
