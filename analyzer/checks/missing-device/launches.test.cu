// RUN: not %check_mock | %file_check
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

template <typename scalar_t> __global__ void scale(const scalar_t *x, scalar_t *out, int n) {}
template <typename A> __global__ void accessors(A x, A out) {}

void direct(const at::Tensor &x, int n) {
  // CHECK: :[[@LINE+1]]:14: warning: 'torch::empty({n})' makes a tensor on the CPU that goes to a kernel beside 'x.data_ptr<float>()', which is on the device of 'x': pass the device (x.device()) [device-missing-device]
  auto out = torch::empty({n});
  scale<float><<<1, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
}

void throughPointer(const at::Tensor &x, int n) {
  // CHECK: warning: 'torch::zeros({1})' makes a tensor on the CPU that goes to a kernel {{.*}} [device-missing-device]
  auto count = torch::zeros({1});
  float *memory = count.data_ptr<float>();
  scale<float><<<1, 256>>>(x.data_ptr<float>(), memory, n);
}

torch::Tensor dispatched(const at::Tensor &x) {
  // CHECK: warning: 'torch::zeros({4})' makes a tensor on the CPU that goes to a kernel {{.*}} [device-missing-device]
  auto out = torch::zeros({4});
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<1, 256>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), 4);
  });
  return x;
}

void viewed(const at::Tensor &x) {
  // CHECK: warning: 'torch::zeros({4})' makes a tensor on the CPU that goes to a kernel {{.*}} [device-missing-device]
  auto out = torch::zeros({4});
  accessors<<<1, 256>>>(x.packed_accessor32<float, 1>(), out.packed_accessor32<float, 1>());
}

void afterAStore(const at::Tensor &x, int n) {
  // CHECK: warning: 'torch::zeros({1})' makes a tensor on the CPU that goes to a kernel {{.*}} [device-missing-device]
  auto count = torch::zeros({1});
  float *memory = count.data_ptr<float>();
  memory[0] = 3;
  *memory = 4;
  scale<float><<<1, 256>>>(x.data_ptr<float>(), memory, n);
}

// A size of another tensor's is no empty tensor.
void sized(const at::Tensor &x) {
  // CHECK: warning: 'torch::zeros({x.size(0), 3})' makes a tensor on the CPU that goes to a kernel {{.*}} [device-missing-device]
  auto out = torch::zeros({x.size(0), 3});
  scale<float><<<1, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), 4);
}

// A function that launches in another file.
void interpolate(int n, const float *points, const int *index, float *out, cudaStream_t stream);
void handedOn(const at::Tensor &x, const at::Tensor &index, int n) {
  // CHECK: warning: 'torch::zeros({n})' makes a tensor on the CPU that goes to a kernel {{.*}} [device-missing-device]
  auto out = torch::zeros({n});
  interpolate(n, x.data_ptr<float>(), index.data_ptr<int>(), out.data_ptr<float>(), c10::cuda::getCurrentCUDAStream());
}

// On the device, or meant to be on the host.
void silent(const at::Tensor &x, int n) {
  auto there = torch::empty({n}, x.options());
  auto moved = torch::empty({n}).to(x.device());
  auto pinned = torch::empty({n}, torch::TensorOptions().pinned_memory(true));
  scale<float><<<1, 256>>>(x.data_ptr<float>(), there.data_ptr<float>(), n);
  scale<float><<<1, 256>>>(x.data_ptr<float>(), moved.data_ptr<float>(), n);
  scale<float><<<1, 256>>>(x.data_ptr<float>(), pinned.data_ptr<float>(), n);
  auto typed = torch::empty({n}, at::CUDA(torch::kFloat));
  scale<float><<<1, 256>>>(x.data_ptr<float>(), typed.data_ptr<float>(), n);
  auto host = torch::empty({n});
  float *memory = host.data_ptr<float>();
  memory = there.data_ptr<float>();
  scale<float><<<1, 256>>>(x.data_ptr<float>(), memory, n);
}

struct Arguments {
  float scale;
};
__global__ void weighted(const float *x, float *out, long length, float weight, Arguments) {}

// Numbers are read on the host and handed over as numbers.
void numbers(const at::Tensor &x, at::Tensor out, at::IntArrayRef lengths) {
  auto host = torch::tensor(lengths);
  auto weights = torch::ones({4});
  float weight = *weights.data_ptr<float>();
  long length = 0;
  length = host.data_ptr<long>()[1];
  Arguments arguments;
  arguments.scale = weights.data_ptr<float>()[0];
  weighted<<<1, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), host.data_ptr<long>()[0], weight, arguments);
  weighted<<<1, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)length, 1, arguments);
}

// Pointers that are set anew, or are one of several.
void pointers(const at::Tensor &x) {
  auto host = torch::ones({4});
  float *memory = host.data_ptr<float>();
  cudaMalloc(&memory, 16);
  scale<float><<<1, 256>>>(x.data_ptr<float>(), memory, 4);
  float *mapped = host.data_ptr<float>();
  cudaHostGetDevicePointer((void **)&mapped, host.data_ptr<float>(), 0);
  scale<float><<<1, 256>>>(x.data_ptr<float>(), mapped, 4);
  float *both[2];
  both[0] = x.data_ptr<float>();
  both[1] = host.data_ptr<float>();
  scale<float><<<1, 256>>>(x.data_ptr<float>(), both[0], 4);
}

// No memory at all, and the device's.
void stand_ins(const at::Tensor &x) {
  auto none = torch::empty({0});
  scale<float><<<1, 256>>>(x.data_ptr<float>(), none.data_ptr<float>(), 4);
  auto same = torch::from_blob(x.data_ptr<float>(), {4});
  scale<float><<<1, 256>>>(x.data_ptr<float>(), same.data_ptr<float>(), 4);
}

// Sizes that a function with a stream reads on the host, and its host twin.
void interpolateOnHost(int n, const float *points, float *out);
void described(const at::Tensor &x, int n) {
  auto sizes = torch::tensor({1, 2});
  interpolate(n, x.data_ptr<float>(), sizes.data_ptr<int>(), x.data_ptr<float>(), c10::cuda::getCurrentCUDAStream());
  auto out = torch::zeros({n});
  interpolateOnHost(n, x.data_ptr<float>(), out.data_ptr<float>());
  auto host = torch::zeros({n});
  cudaMemcpyAsync(host.data_ptr<float>(), x.data_ptr<float>(), 4 * n, cudaMemcpyDeviceToHost, c10::cuda::getCurrentCUDAStream());
}
// CHECK-NOT: :[[#]]:[[#]]: warning: {{.*}} [device-missing-device]
