// A call in a template names the primary template; what runs may be a specialisation of it.
// RUN: not %check_mock | %file_check
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

__global__ void work(float *p) {}

template <typename T> void product(const T *a, T *c) {}
template <> void product<float>(const float *a, float *c) { work<<<1, 1>>>(c); }
template <typename T> void byPrimary(const T *a, T *c) { product<T>(a, c); }

template <typename T> void scale(T *p);
template <> void scale<float>(float *p) { work<<<1, 1>>>(p); }
template <typename T> void byDeclared(T *p) { scale(p); }

template <typename T> struct Filler {
  void run(T *p) {}
  void both(T *p) { run(p); }
};
template <> void Filler<float>::run(float *p) { work<<<1, 1>>>(p); }

void flagged(at::Tensor x, Filler<float> &filler) {
  byPrimary<float>(x.data_ptr<float>(), x.data_ptr<float>());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
  // CHECK: :9:61: note: launched here
  byDeclared<float>(x.data_ptr<float>());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
  filler.both(x.data_ptr<float>());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
}

// Its only caller sets the device.
template <typename T> void run(at::Tensor x) {}
template <> void run<float>(at::Tensor x) { work<<<1, 1>>>(x.data_ptr<float>()); }
template <typename T> void outer(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  run<T>(x);
}
void silent(at::Tensor x) { outer<float>(x); }
