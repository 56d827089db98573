// A small extension as users write them: its own kernels, its guards right and wrong.
#include <ATen/core/Tensor.h>
#include <ATen/core/TensorAccessor.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDACachingAllocator.h>
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

__global__ void scaleTo(float *to, const float *values, float factor, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    to[i] = values[i] * factor;
}

static at::Tensor scaledCopy(const at::Tensor &values, double factor) {
  const c10::cuda::CUDAGuard guard(values.device());
  at::Tensor to = at::empty_like(values);
  const int count = static_cast<int>(values.numel());
  scaleTo<<<(count + 127) / 128, 128, 0, c10::cuda::getCurrentCUDAStream()>>>(
      to.mutable_data_ptr<float>(), values.const_data_ptr<float>(), static_cast<float>(factor), count);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return to;
}

// On a stream of its own, which events put between what the current stream has done and will do; without
// `ordered`, nothing does.
static void scaledOnOwnStream(const at::Tensor &values, double factor, bool ordered) {
  const c10::cuda::CUDAGuard guard(values.device());
  static cudaStream_t own = nullptr;
  cudaEvent_t before, after;
  if (own == nullptr)
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
  C10_CUDA_CHECK(cudaEventCreateWithFlags(&before, cudaEventDisableTiming));
  C10_CUDA_CHECK(cudaEventCreateWithFlags(&after, cudaEventDisableTiming));
  C10_CUDA_CHECK(cudaEventRecord(before, c10::cuda::getCurrentCUDAStream()));
  if (ordered)
    C10_CUDA_CHECK(cudaStreamWaitEvent(own, before, 0));
  launch(values, factor, own);
  C10_CUDA_CHECK(cudaEventRecord(after, own));
  if (ordered)
    C10_CUDA_CHECK(cudaStreamWaitEvent(c10::cuda::getCurrentCUDAStream(), after, 0));
  C10_CUDA_CHECK(cudaEventDestroy(before));
  C10_CUDA_CHECK(cudaEventDestroy(after));
}

// A stream made without flags comes after the default stream's work and before what follows there.
static void scaledOnBlockingStream(const at::Tensor &values, double factor) {
  const c10::cuda::CUDAGuard guard(values.device());
  cudaStream_t own;
  C10_CUDA_CHECK(cudaStreamCreate(&own));
  launch(values, factor, own);
  C10_CUDA_CHECK(cudaStreamDestroy(own));
}

static void copied(const at::Tensor &to, const at::Tensor &from, bool wait) {
  const c10::cuda::CUDAGuard guard(to.device());
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  C10_CUDA_CHECK(cudaMemcpyAsync(to.data_ptr(), from.data_ptr(), from.nbytes(), cudaMemcpyDeviceToDevice, stream));
  if (wait)
    C10_CUDA_CHECK(cudaStreamSynchronize(stream));
}

// Uses memory of its own on a stream of its own, which it tells the allocator or not.
static void scaledInScratch(const at::Tensor &values, double factor, bool recorded) {
  namespace caching = c10::cuda::CUDACachingAllocator;
  const c10::cuda::CUDAGuard guard(values.device());
  const c10::cuda::CUDAStream side = c10::cuda::getStreamFromPool(false, values.get_device());
  const int count = static_cast<int>(values.numel());
  const c10::DataPtr scratch = caching::get()->allocate(values.nbytes());
  scaleTo<<<(count + 127) / 128, 128, 0, side>>>(static_cast<float *>(scratch.get()), values.const_data_ptr<float>(),
                                                 static_cast<float>(factor), count);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  if (recorded)
    caching::recordStream(scratch, side);
  caching::raw_delete(caching::raw_alloc(values.nbytes()));
}

static void rowAdded(const at::Tensor &to, const at::Tensor &row) {
  const c10::cuda::CUDAGuard guard(to.device());
  addRows<float><<<to.size(0), to.size(1), 0, c10::cuda::getCurrentCUDAStream()>>>(
      to.packed_accessor32<float, 2>(), row.packed_accessor32<float, 1>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// Without a guard. Half of the work is an operator of ATen's, which runs.
static at::Tensor &scaledByEither(at::Tensor &values, double factor) {
  values.add_(1.0);
  scaledWithoutGuard(values, factor);
  return values;
}

static at::Tensor &scaledOnCpu(at::Tensor &values, double factor) {
  return values.add_(1.0).mul_(factor);
}

TORCH_LIBRARY(devsan_test, library) {
  library.def("scale_by_either_(Tensor(a!) values, float factor) -> Tensor(a!)");
  library.def("scale_", scaled);
  library.def("scale_without_guard_", scaledWithoutGuard);
  library.def("scale_on_default_stream_", scaledOnDefaultStream);
  library.def("add_row_", rowAdded);
  library.def("scaled", scaledCopy);
  library.def("scale_on_own_stream_", scaledOnOwnStream);
  library.def("scale_on_blocking_stream_", scaledOnBlockingStream);
  library.def("copy_", copied);
  library.def("scale_in_scratch_", scaledInScratch);
}

TORCH_LIBRARY_IMPL(devsan_test, CUDA, library) {
  library.impl("scale_by_either_", scaledByEither);
}

TORCH_LIBRARY_IMPL(devsan_test, CPU, library) {
  library.impl("scale_by_either_", scaledOnCpu);
}
