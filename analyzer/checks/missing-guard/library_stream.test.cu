// A library that is told the stream in each call works on the device of that stream.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <cublasLt.h>

struct Problem {
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t layout;
};

void multiplies(cublasLtHandle_t handle, const Problem &p, const at::Tensor &a, at::Tensor out) {
  const float one = 1;
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  // CHECK: :[[@LINE-1]]:25: error: 'stream' is the stream of the current device, which need not be that of 'a'{{.*}}[device-missing-guard]
  cublasLtMatmul(handle, p.operation, &one, a.data_ptr(), p.layout, a.data_ptr(), p.layout, &one, out.data_ptr(), p.layout, out.data_ptr(), p.layout, nullptr, nullptr, 0, stream);
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'a': no guard is live here [device-missing-guard]
}

// In a function that only knows pointers, whose call counts.
static void multiplyOn(cublasLtHandle_t handle, const Problem &p, const void *a, void *out, cudaStream_t &stream) {
  const float one = 1;
  cublasLtMatmul(handle, p.operation, &one, a, p.layout, a, p.layout, &one, out, p.layout, out, p.layout, nullptr, nullptr, 0, stream);
}
void multipliesThere(cublasLtHandle_t handle, const Problem &p, const at::Tensor &a, at::Tensor out) {
  auto stream{at::cuda::getCurrentCUDAStream().stream()};
  multiplyOn(handle, p, a.data_ptr(), out.data_ptr(), stream);
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'a': no guard is live here [device-missing-guard]
}

void guards(cublasLtHandle_t handle, const Problem &p, const at::Tensor &a, at::Tensor out) {
  const c10::cuda::CUDAGuard guard(a.device());
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  multiplyOn(handle, p, a.data_ptr(), out.data_ptr(), stream);
}

// Only asks how.
void plans(cublasLtHandle_t handle, const Problem &p, cublasLtMatmulPreference_t preference, const at::Tensor &a) {
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  cublasLtMatmulAlgoGetHeuristic(handle, p.operation, p.layout, p.layout, p.layout, p.layout, preference, 1, &result, &found);
}
