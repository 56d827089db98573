// A stream that a function hands on with its caller's memory to what only a missing header would declare.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include "gone/kernel.h"

template <typename T> void byObject(T *out, cudaStream_t stream) {
  using Kernel = gone::Kernel<T>;
  auto kernel = Kernel(4);
  gone::Status status = kernel(out, stream);
}
template <typename T> void byMember(T *out, cudaStream_t stream) {
  gone::Kernel<T>::launch(out, stream);
}
void byName(float *out, cudaStream_t stream) { gone::launch<float>(out, stream); }
void flagged(at::Tensor x) {
  const int device = x.get_device();
  byObject<float>(x.data_ptr<float>(), at::cuda::getCurrentCUDAStream(device));
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
  // CHECK-NEXT: byObject<float>
  // CHECK-NEXT: ^
  // CHECK-NEXT: :[[@LINE-12]]:25: note: launched here
  byMember<float>(x.data_ptr<float>(), at::cuda::getCurrentCUDAStream(device));
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
  byName(x.data_ptr<float>(), at::cuda::getCurrentCUDAStream(device));
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
}

// What it is given has no memory, or tells the device; it is a function of the program's own, or of whoever uses the
// template; a guard is live.
template <typename T, typename Policy> void byPolicy(T *out, cudaStream_t stream) { Policy::launch(out, stream); }
void byEvent(float *out, cudaStream_t stream, cudaEvent_t event, const char *name) {
  gone::wait(stream, event);
  gone::record(&event, stream);
  gone::trace(name, stream);
}
template <typename T> void waits(float *out, cudaStream_t stream) { T::record(stream); }
template <typename T> void tells(float *out, cudaStream_t stream, at::Device device) { T::launch(out, stream, device); }
template <typename F> void calls(F &&run, float *out, cudaStream_t stream) {
  auto inner = [&](auto *memory, auto at) {};
  inner(out, stream);
  run(out, stream);
}
template <typename T> void ofTold(T *out, cudaStream_t stream, at::Device device) {
  gone::Kernel<T> kernel(device);
  kernel.run(out, stream);
}
template <typename T> void ofObject(float *out, cudaStream_t stream, at::Device device) {
  T kernel(device);
  kernel(out, stream);
}
void silent(at::Tensor x) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream(x.get_device());
  byPolicy<float, gone::Policy>(x.data_ptr<float>(), stream);
  byEvent(x.data_ptr<float>(), stream, cudaEvent_t(), "x");
  ofTold<float>(x.data_ptr<float>(), stream, x.device());
  waits<int>(x.data_ptr<float>(), stream);
  tells<gone::Kernel<int>>(x.data_ptr<float>(), stream, x.device());
  calls([](float *, cudaStream_t) {}, x.data_ptr<float>(), stream);
  ofObject<gone::Kernel<int>>(x.data_ptr<float>(), stream, x.device());
  const c10::cuda::CUDAGuard guard(x.device());
  byName(x.data_ptr<float>(), stream);
}
