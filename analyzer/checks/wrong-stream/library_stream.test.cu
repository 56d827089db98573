// A library that is told the stream in each call.
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
  const c10::cuda::CUDAGuard guard(a.device());
  cublasLtMatmul(handle, p.operation, &one, a.data_ptr(), p.layout, a.data_ptr(), p.layout, &one, out.data_ptr(), p.layout, out.data_ptr(), p.layout, nullptr, nullptr, 0, 0);
  // CHECK: :[[@LINE-1]]:3: error: the algorithm runs on the default stream, while the work of 'a' is on the current one [device-wrong-stream]
}

void onCurrent(cublasLtHandle_t handle, const Problem &p, const at::Tensor &a, at::Tensor out) {
  const float one = 1;
  const c10::cuda::CUDAGuard guard(a.device());
  cublasLtMatmul(handle, p.operation, &one, a.data_ptr(), p.layout, a.data_ptr(), p.layout, &one, out.data_ptr(), p.layout, out.data_ptr(), p.layout, nullptr, nullptr, 0, at::cuda::getCurrentCUDAStream());
}

// What a template leaves open may hold the stream.
template <typename... Rest>
void forwards(cublasLtHandle_t handle, const at::Tensor &a, Rest... rest) {
  const c10::cuda::CUDAGuard guard(a.device());
  ::cublasLtMatmul(handle, a.data_ptr(), rest...);
}
