// Host code of CUDA files parses with the mock headers and the CUDA stubs.
// RUN: %check_mock | %file_check --allow-empty
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cub/cub.cuh>
#include <device_atomic_functions.h>
#include <torch/extension.h>

template <typename scalar_t> __global__ void scale(scalar_t *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] *= 2;
}

void launch(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<1, 256, 0, stream>>>(x.data_ptr<scalar_t>(), x.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
}

__device__ bool done;

bool isDone(cudaStream_t stream) {
  bool result = false;
  void *address = nullptr;
  size_t size = 0;
  cudaGetSymbolAddress(&address, done);
  cudaGetSymbolSize(&size, done);
  cudaMemcpyFromSymbolAsync(&result, done, sizeof result, 0, cudaMemcpyDeviceToHost, stream);
  cudaMemcpyFromSymbol(&result, done, sizeof result, 0, cudaMemcpyDeviceToHost);
  return result;
}

template <int Threads> struct Traits {
  using Load = cub::BlockLoad<float, Threads, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<float, Threads, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<float, Threads, cub::BLOCK_SCAN_WARP_SCANS>;
  static constexpr int kBytes = sizeof(typename Load::TempStorage) + sizeof(typename Store::TempStorage);
};
static_assert(Traits<128>::kBytes > 0 && sizeof(Traits<128>::Scan) > 0);

dim3 blocks(int n, unsigned int most, int64_t wide) {
  return dim3(min(n, 512), max(most, 1u), min(max(n, most), 65535u) + min(wide, int64_t(8)));
}
