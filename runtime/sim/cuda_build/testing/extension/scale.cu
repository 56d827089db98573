// A small extension as users write them: its own kernels, its guards right and wrong.
#include <ATen/core/Tensor.h>
#include <ATen/core/TensorAccessor.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/library.h>

__global__ void scale(float *values, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    values[i] *= factor;
}

template <typename T>
__global__ void addRows(at::PackedTensorAccessor32<T, 2> to, at::PackedTensorAccessor32<T, 1> row) {
  const int i = blockIdx.x, j = threadIdx.x;
  to[i][j] += row[j];
}

static void launch(const at::Tensor &values, double factor, cudaStream_t stream) {
  const int count = static_cast<int>(values.numel());
  scale<<<(count + 127) / 128, 128, 0, stream>>>(values.data_ptr<float>(),
                                                 static_cast<float>(factor), count);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

static void scaled(const at::Tensor &values, double factor) {
  const c10::cuda::CUDAGuard guard(values.device());
  launch(values, factor, c10::cuda::getCurrentCUDAStream());
}

static void scaledWithoutGuard(const at::Tensor &values, double factor) {
  launch(values, factor, c10::cuda::getCurrentCUDAStream());
}

static void scaledOnDefaultStream(const at::Tensor &values, double factor) {
  const c10::cuda::CUDAGuard guard(values.device());
  launch(values, factor, nullptr);
}

static void rowAdded(const at::Tensor &to, const at::Tensor &row) {
  const c10::cuda::CUDAGuard guard(to.device());
  addRows<float><<<to.size(0), to.size(1), 0, c10::cuda::getCurrentCUDAStream()>>>(
      to.packed_accessor32<float, 2>(), row.packed_accessor32<float, 1>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

TORCH_LIBRARY(devsan_test, library) {
  library.def("scale_", scaled);
  library.def("scale_without_guard_", scaledWithoutGuard);
  library.def("scale_on_default_stream_", scaledOnDefaultStream);
  library.def("add_row_", rowAdded);
}
