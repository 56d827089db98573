// cuBLAS and kin work on the device that their handle was made on, or taken for.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <cublas_v2.h>

void multiplies(cublasHandle_t handle, const at::Tensor &a, const at::Tensor &b) {
  const float one = 1;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data_ptr<float>(), 2, b.data_ptr<float>(), 2, &one, a.data_ptr<float>(), 2);
}

void takesHandle(const at::Tensor &a) {
  const float one = 1;
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data_ptr<float>(), 2, a.data_ptr<float>(), 2, &one, a.data_ptr<float>(), 2);
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'a': no guard is live here [device-missing-guard]
}

void makesHandle(const at::Tensor &a) {
  const float one = 1;
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data_ptr<float>(), 2, a.data_ptr<float>(), 2, &one, a.data_ptr<float>(), 2);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} 'a'{{.*}}[device-missing-guard]
  cublasDestroy(handle);
}

void guards(const at::Tensor &a) {
  const float one = 1;
  const c10::cuda::CUDAGuard guard(a.device());
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data_ptr<float>(), 2, a.data_ptr<float>(), 2, &one, a.data_ptr<float>(), 2);
}

// Whose handle it is, its owner knows.
struct Multiplier {
  cublasHandle_t handle;
  void run(const at::Tensor &a) {
    const float one = 1;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data_ptr<float>(), 2, a.data_ptr<float>(), 2, &one, a.data_ptr<float>(), 2);
  }
};

void suppressed(const at::Tensor &a) {
  const float one = 1;
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data_ptr<float>(), 2, a.data_ptr<float>(), 2, &one, a.data_ptr<float>(), 2); // NOLINT(device-missing-guard): one GPU
}
