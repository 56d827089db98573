// RUN: not %check_mock | %file_check
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

#include <thread>

template <typename scalar_t> __global__ void scale(scalar_t *x, int n) {}

void plain(at::Tensor x) {
  scale<float><<<1, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs on the current device, which need not be that of 'x': no guard is live here [device-missing-guard]
}

// The launch of a dispatch macro's lambda, in the order of the library that had the bug.
torch::Tensor dispatched(const torch::Tensor &input, int64_t dim) {
  auto out = torch::empty_like(input);
  auto stream = at::cuda::getCurrentCUDAStream();
  // CHECK: :[[@LINE-1]]:17: error: 'stream' is the stream of the current device, which need not be that of 'input': no guard is live here [device-missing-guard]
  AT_DISPATCH_FLOATING_TYPES(input.scalar_type(), "scale", [&] {
    auto out_data = out.data_ptr<scalar_t>();
    scale<scalar_t><<<1, 256, 0, stream>>>(out_data, input.numel());
    // CHECK: :[[@LINE-1]]:5: error: the kernel runs on the current device, which need not be that of 'out'{{.*}}[device-missing-guard]
  });
  return out;
}

void runtimeCall(at::Tensor x) {
  void *args[] = {nullptr};
  cudaLaunchKernel((void *)scale<float>, 1, 256, args, 0, at::cuda::getCurrentCUDAStream());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
}

// Raw pointers only: the fault is its caller's, who knows the tensor.
void launch(float *x, int n) { scale<float><<<1, 256>>>(x, n); }

void calls(at::Tensor x) {
  launch(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
  // CHECK: :[[@LINE-5]]:32: note: launched here
}

// A guard whose scope has ended.
void tooShort(at::Tensor x) {
  {
    const at::DeviceGuard guard(x.device());
    launch(x.data_ptr<float>(), x.numel());
  }
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
}

// One of its callers guards, the other does not.
void inner(at::Tensor x) {
  scale<float><<<1, 256>>>(x.data_ptr<float>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
}
void guarding(at::Tensor x) {
  const at::DeviceGuard guard(x.device());
  inner(x);
}
void forgetting(at::Tensor x) { inner(x); }

// Written once, reported once, however often it is instantiated.
template <typename T> void generic(at::Tensor x) {
  scale<T><<<1, 256>>>(x.data_ptr<T>(), x.numel());
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
}
void instantiate(at::Tensor x) {
  generic<float>(x);
  generic<double>(x);
}

// One of the callers has no guard.
template <typename T> void launchFor(const at::Tensor &x) {
  // CHECK: :[[@LINE+1]]:3: error: the kernel runs on the current device, which need not be that of 'x': no guard is live here [device-missing-guard]
  scale<T><<<1, 256>>>(x.data_ptr<T>(), x.numel());
}
template <bool twice> void mayHaveGuard(const at::Tensor &x) {
  launchFor<float>(x);
  at::DeviceGuard guard(x.device());
  launchFor<double>(x);
}

// Made in this function, and not for the device that is current where it is used.
void usedInThread(int n) {
  at::Tensor x = torch::ones({n}, torch::kCUDA);
  std::thread worker([&] {
    scale<float><<<1, 256>>>(x.data_ptr<float>(), n);
    // CHECK: :[[@LINE-1]]:5: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
  });
  worker.join();
}
void madeByIndex(int n) {
  at::Tensor x = torch::ones({n}, torch::TensorOptions().device(torch::kCUDA).device_index(1));
  scale<float><<<1, 256>>>(x.data_ptr<float>(), n);
  // CHECK: :[[@LINE-1]]:3: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
}

// What stands behind a return is reached by a label.
void jumped(at::Tensor x, int n) {
  if (n)
    goto launch;
  return;
  {
  launch:
    scale<float><<<1, 256>>>(x.data_ptr<float>(), n);
    // CHECK: :[[@LINE-1]]:5: error: the kernel runs {{.*}} 'x'{{.*}}[device-missing-guard]
  }
}
