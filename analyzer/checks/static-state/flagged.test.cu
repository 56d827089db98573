// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>
#include <torch/extension.h>

#include <mutex>
#include <vector>

static at::cuda::CUDAStream load_stream = at::cuda::getStreamFromPool(true);
// CHECK: :[[@LINE-1]]:29: warning: the stream in 'load_stream' is of the device that is current when the program is loaded, and serves all devices [device-static-state]

at::cuda::CUDAStream local() {
  static at::cuda::CUDAStream stream = at::cuda::getStreamFromPool();
  // CHECK: :[[@LINE-1]]:31: warning: the stream in 'stream' is of the device that is current at the first call, and serves all devices [device-static-state]
  return stream;
}

cudaStream_t lazily() {
  static cudaStream_t stream = nullptr;
  // CHECK: :[[@LINE-1]]:23: warning: the stream in 'stream' is of the device that is current at the first call{{.*}}[device-static-state]
  static bool made = false;
  if (!made) {
    cudaStreamCreate(&stream);
    // CHECK: :[[@LINE-1]]:5: note: made here
    made = true;
  }
  return stream;
}

// All of them on one device, whatever the index means.
cudaEvent_t pool(int index) {
  static std::vector<cudaEvent_t> events(8);
  // CHECK: :[[@LINE-1]]:35: warning: the event in 'events'{{.*}}[device-static-state]
  // CHECK: note: made here
  static std::once_flag once;
  std::call_once(once, [] {
    for (size_t i = 0; i < 8; ++i)
      cudaEventCreate(&events[i]);
  });
  return events[index];
}

cublasHandle_t handle_;
// CHECK: :[[@LINE-1]]:16: warning: the handle in 'handle_' is of the device that is current at the first call{{.*}}[device-static-state]
void init() {
  cublasCreate(&handle_);
  // CHECK: :[[@LINE-1]]:3: note: made here
}

int blocks() {
  static int count = at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
  // CHECK: :[[@LINE-1]]:14: warning: the properties in 'count' are of the device that is current at the first call, and are used for all devices [device-static-state]
  return count * 2;
}

at::Tensor workspace(const at::Tensor &x) {
  static at::Tensor buffer = torch::empty({1024}, x.options());
  // CHECK: :[[@LINE-1]]:21: warning: the tensor in 'buffer'{{.*}}[device-static-state]
  return x + buffer;
}

void *memory() {
  static void *buffer = nullptr;
  // CHECK: :[[@LINE-1]]:16: warning: the device memory in 'buffer'{{.*}}[device-static-state]
  if (!buffer)
    cudaMalloc(&buffer, 1024);
  // CHECK: :[[@LINE-1]]:5: note: made here
  return buffer;
}

// A lambda that is called at once.
cudaStream_t calledLambda() {
  // CHECK: :[[@LINE+1]]:23: warning: the stream in 'stream'{{.*}}[device-static-state]
  static cudaStream_t stream = [] {
    cudaStream_t made;
    cudaStreamCreate(&made);
    return made;
  }();
  return stream;
}

// "map" in a name makes no map.
struct Bitmap {
  at::cuda::CUDAStream stream;
};
Bitmap &bitmap() {
  // CHECK: :[[@LINE+1]]:17: warning: the stream in 'bitmap'{{.*}}[device-static-state]
  static Bitmap bitmap{at::cuda::getStreamFromPool()};
  return bitmap;
}
