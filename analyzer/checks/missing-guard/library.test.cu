// cuBLAS and kin work on the device that their handle was made on, or taken for.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <cublas_v2.h>

#include <memory>

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

// Whoever holds it.
struct Destroy {
  void operator()(cublasHandle_t handle) const { cublasDestroy(handle); }
};
using Owner = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, Destroy>;
Owner makeOwner() {
  cublasHandle_t handle;
  cublasCreate(&handle);
  return Owner(handle);
}
template <typename Create> Owner makeBy(Create create) {
  cublasHandle_t handle;
  create(&handle);
  return Owner(handle);
}
Owner makeFor(int device) {
  cudaSetDevice(device);
  cublasHandle_t handle;
  cublasCreate(&handle);
  return Owner(handle);
}
struct Wrapper {
  Wrapper() { cublasCreate(&handle); }
  explicit Wrapper(cublasHandle_t given) : handle(given) {}
  operator cublasHandle_t() const { return handle; }
  cublasHandle_t operator*() const { return handle; }
  cublasHandle_t get() const { return handle; }
  cublasHandle_t handle;
};
const float kOne = 1;
void heldByPointer(const at::Tensor &a) {
  Owner owner = makeOwner();
  cublasSscal(owner.get(), 3, &kOne, a.data_ptr<float>(), 1);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} 'a'{{.*}}[device-missing-guard]
}
void madeByArgument(const at::Tensor &a) {
  auto owner = makeBy(cublasCreate);
  cublasSscal(owner.get(), 3, &kOne, a.data_ptr<float>(), 1);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} 'a'{{.*}}[device-missing-guard]
}
void heldAfterwards(const at::Tensor &a) {
  cublasHandle_t handle;
  cublasCreate(&handle);
  Owner owner(handle);
  cublasSscal(owner.get(), 3, &kOne, a.data_ptr<float>(), 1);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} 'a'{{.*}}[device-missing-guard]
}
void converted(const at::Tensor &a) {
  Wrapper wrapper;
  cublasSscal(wrapper, 3, &kOne, a.data_ptr<float>(), 1);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} 'a'{{.*}}[device-missing-guard]
}
void dereferenced(const at::Tensor &a) {
  Wrapper wrapper;
  cublasSscal(*wrapper, 3, &kOne, a.data_ptr<float>(), 1);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} 'a'{{.*}}[device-missing-guard]
}

// Made on a device that somebody chose, given, or kept.
void heldElsewhere(const at::Tensor &a, Wrapper &given, cublasHandle_t handle) {
  Owner owner = makeFor(a.get_device());
  cublasSscal(owner.get(), 3, &kOne, a.data_ptr<float>(), 1);
  cublasSscal(given.get(), 3, &kOne, a.data_ptr<float>(), 1);
  Wrapper wrapped(handle);
  cublasSscal(wrapped, 3, &kOne, a.data_ptr<float>(), 1);
  static Wrapper kept;
  cublasSscal(kept, 3, &kOne, a.data_ptr<float>(), 1);
}
void heldUnderGuard(const at::Tensor &a) {
  const c10::cuda::CUDAGuard guard(a.device());
  Owner owner = makeOwner();
  Wrapper wrapper;
  cublasSscal(owner.get(), 3, &kOne, a.data_ptr<float>(), 1);
  cublasSscal(wrapper, 3, &kOne, a.data_ptr<float>(), 1);
}

void suppressed(const at::Tensor &a) {
  const float one = 1;
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data_ptr<float>(), 2, a.data_ptr<float>(), 2, &one, a.data_ptr<float>(), 2); // NOLINT(device-missing-guard): one GPU
}
