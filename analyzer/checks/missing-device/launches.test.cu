// RUN: not %check_mock | %file_check
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
// CHECK-NOT: :[[#]]:[[#]]: warning: {{.*}} [device-missing-device]
