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

void check(cublasStatus_t status, const char *file, int line);
struct Checked {
  explicit Checked(int batch) : batch(batch) { check(cublasCreate(&handle), __FILE__, __LINE__); }
  operator cublasHandle_t() const { return handle; }
  int batch;
  cublasHandle_t handle;
};
void heldChecked(const at::Tensor &a) {
  Checked checked(3);
  cublasSscal(checked, 3, &kOne, a.data_ptr<float>(), 1);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} 'a'{{.*}}[device-missing-guard]
}

// Of two handles it is the one that is used that counts.
struct Both {
  explicit Both(cublasHandle_t given) : given(given) { cublasCreate(&own); }
  cublasHandle_t getGiven() const { return given; }
  cublasHandle_t getOwn() const { return own; }
  cublasHandle_t given, own;
};
void usesBoth(const at::Tensor &a, cublasHandle_t handle) {
  Both both(handle);
  cublasSscal(both.given, 3, &kOne, a.data_ptr<float>(), 1);
  cublasSscal(both.getGiven(), 3, &kOne, a.data_ptr<float>(), 1);
}
void usesOwn(const at::Tensor &a, cublasHandle_t handle) {
  Both both(handle);
  cublasSscal(both.getOwn(), 3, &kOne, a.data_ptr<float>(), 1);
  // CHECK: :[[@LINE-1]]:3: error: {{.*}} 'a'{{.*}}[device-missing-guard]
}

// Who makes it may choose the device: in a function, seen or not, in a base or by a member.
void choose(int device);
inline void chooseHere(int device) { cudaSetDevice(device); }
struct Chooser {
  explicit Chooser(int device) { chooseHere(device); }
};
struct Unseen {
  explicit Unseen(int device) { choose(device), cublasCreate(&handle); }
  cublasHandle_t handle;
};
struct Seen {
  explicit Seen(int device) { chooseHere(device), cublasCreate(&handle); }
  cublasHandle_t handle;
};
struct InBase : Chooser {
  explicit InBase(int device) : Chooser(device) { cublasCreate(&handle); }
  cublasHandle_t handle;
};
struct ByMember {
  explicit ByMember(int device) : guard(device) { cublasCreate(&handle); }
  c10::cuda::CUDAGuard guard;
  cublasHandle_t handle;
};
struct ByDefault {
  explicit ByDefault(int device) : device(device) { cublasCreate(&handle); }
  int device;
  Chooser chooser{device};
  cublasHandle_t handle;
};
Owner makeChosen(int device) {
  choose(device);
  return makeOwner();
}
template <typename Create> Owner makeChosenBy(Create create, int device) {
  choose(device);
  cublasHandle_t handle;
  create(&handle);
  return Owner(handle);
}
void chosen(const at::Tensor &a) {
  const int device = a.get_device();
  Unseen unseen(device);
  Seen seen(device);
  InBase in_base(device);
  ByDefault by_default(device);
  Owner made = makeChosen(device), made_by = makeChosenBy(cublasCreate, device);
  cublasSscal(unseen.handle, 3, &kOne, a.data_ptr<float>(), 1);
  cublasSscal(seen.handle, 3, &kOne, a.data_ptr<float>(), 1);
  cublasSscal(in_base.handle, 3, &kOne, a.data_ptr<float>(), 1);
  cublasSscal(by_default.handle, 3, &kOne, a.data_ptr<float>(), 1);
  cublasSscal(made.get(), 3, &kOne, a.data_ptr<float>(), 1);
  cublasSscal(made_by.get(), 3, &kOne, a.data_ptr<float>(), 1);
}
void chosenByMember(const at::Tensor &a) {
  ByMember by_member(a.get_device());
  cublasSscal(by_member.handle, 3, &kOne, a.data_ptr<float>(), 1);
}

// A pool makes it only once, or gives what it has.
struct Pool {
  cublasHandle_t of(int device) {
    if (!handles[device])
      cublasCreate(&handles[device]);
    return handles[device];
  }
  Wrapper acquire(int device, int count);
  cublasHandle_t handles[8];
};
Pool &pool();
void fill(cublasHandle_t *handle, int device);
void pooled(const at::Tensor &a) {
  int count = 0;
  cudaGetDeviceCount(&count);
  Wrapper wrapper = pool().acquire(a.get_device(), count);
  cublasSscal(wrapper.get(), 3, &kOne, a.data_ptr<float>(), 1);
  cublasHandle_t handle = pool().of(a.get_device());
  cublasSscal(handle, 3, &kOne, a.data_ptr<float>(), 1);
}
void madeIfAbsent(const at::Tensor &a, cublasHandle_t given) {
  cublasHandle_t handle = given;
  if (!handle)
    cublasCreate(&handle);
  cublasSscal(handle, 3, &kOne, a.data_ptr<float>(), 1);
}
void givenAfterwards(const at::Tensor &a, cublasHandle_t given) {
  cublasHandle_t handle, filled;
  cublasCreate(&handle);
  cublasCreate(&filled);
  handle = given;
  fill(&filled, a.get_device());
  cublasSscal(handle, 3, &kOne, a.data_ptr<float>(), 1);
  cublasSscal(filled, 3, &kOne, a.data_ptr<float>(), 1);
}

void suppressed(const at::Tensor &a) {
  const float one = 1;
  cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data_ptr<float>(), 2, a.data_ptr<float>(), 2, &one, a.data_ptr<float>(), 2); // NOLINT(device-missing-guard): one GPU
}
