// Work that is launched in another file, and in another thread.
// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <thread>
#include <vector>

__global__ void scale(float *x, int n) {}

void launchScale(float *x, int n, cudaStream_t stream);
void handsStream(at::Tensor x) {
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  // CHECK: :[[@LINE-1]]:25: error: 'stream' is the stream of the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
  launchScale(x.data_ptr<float>(), x.numel(), stream);
  // CHECK: :[[@LINE-1]]:3: error: the call puts work on a stream while the current device need not be that of 'x': no guard is live here [device-missing-guard]
}
void guardsBefore(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  launchScale(x.data_ptr<float>(), x.numel(), at::cuda::getCurrentCUDAStream());
}

// In a structure.
struct Parameters {
  float *x;
  cudaStream_t stream;
};
void launchWith(Parameters &parameters, bool configure);
void handsParameters(at::Tensor x) {
  Parameters parameters{x.data_ptr<float>(), at::cuda::getCurrentCUDAStream()};
  launchWith(parameters, true);
  // CHECK: :[[@LINE-1]]:3: error: the call puts work on a stream while the current device{{.*}}[device-missing-guard]
}

// The function can set the device itself.
void launchOn(float *x, int n, int device, cudaStream_t stream);
void launchTensor(at::Tensor x, cudaStream_t stream);
void tellsDevice(at::Tensor x) {
  auto stream = at::cuda::getCurrentCUDAStream();
  const int device = x.get_device();
  launchOn(x.data_ptr<float>(), x.numel(), device, stream);
  launchOn(x.data_ptr<float>(), x.numel(), x.get_device(), stream);
  launchTensor(x, stream);
}
void synchronises(at::Tensor x) { cudaStreamSynchronize(at::cuda::getCurrentCUDAStream()); }

// A generic stream knows its device.
void enqueue(float *x, c10::Stream stream);
void handsGenericStream(at::Tensor x, c10::Stream stream) {
  enqueue(x.data_ptr<float>(), stream);
}

// Its body shows that it launches nothing.
void remember(cudaStream_t stream) {}
void remembers(at::Tensor x) { remember(at::cuda::getCurrentCUDAStream()); }

// A new thread starts on device 0, whatever the caller has set.
void inThread(at::Tensor x) {
  const c10::cuda::CUDAGuard guard(x.device());
  std::thread worker([&] {
    scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
    // CHECK: :[[@LINE-1]]:5: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
  });
  std::vector<std::thread> workers;
  workers.emplace_back([&] {
    scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
    // CHECK: :[[@LINE-1]]:5: error: the kernel runs on the current device, which need not be that of 'x'{{.*}}[device-missing-guard]
  });
  workers.emplace_back([&] {
    const c10::cuda::CUDAGuard inner(x.device());
    scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
  });
  scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
}

// What a lambda does it does where it is called.
void lambda(at::Tensor x) {
  auto launch = [&](int blocks) { scale<<<blocks, 256>>>(x.data_ptr<float>(), x.numel()); };
  const c10::cuda::CUDAGuard guard(x.device());
  launch(1);
}
void lambdaBare(at::Tensor x) {
  auto launch = [&](int blocks) {
    scale<<<blocks, 256>>>(x.data_ptr<float>(), x.numel());
    // CHECK: :[[@LINE-1]]:5: error: the kernel runs on the current device{{.*}}[device-missing-guard]
  };
  launch(1);
}

// A function of the project that sets the device for good.
void useDeviceOf(const at::Tensor &x) { C10_CUDA_CHECK(cudaSetDevice(x.get_device())); }
void throughWrapper(at::Tensor x) {
  useDeviceOf(x);
  scale<<<1, 256>>>(x.data_ptr<float>(), x.numel());
}
