// What the device model follows: options, early returns, checks, lambdas, helpers, devices of any kind.
// RUN: not %check_mock | %file_check
#include <ATen/Dispatch.h>
#include <torch/torch.h>

#include <vector>

#define CHECK_CUDA(x) TORCH_CHECK((x).is_cuda(), #x " must be a CUDA tensor")
#define CHECK_HOST(x) TORCH_CHECK((x).device().type() == torch::kCPU, #x " must be a CPU tensor")

// Options in variables, extended, assigned late, chosen.
torch::Tensor options(const torch::Tensor &x, bool wide) {
  auto like = x.options();
  const auto &narrow = like.dtype(torch::kInt);
  torch::TensorOptions late;
  late = wide ? like : narrow;
  return x + torch::zeros({3}, late) + torch::zeros({3}, torch::TensorOptions(torch::kInt).device(x.device()));
}
torch::Tensor hostOptions(const torch::Tensor &x) {
  auto wanted = torch::TensorOptions().dtype(torch::kInt);
  auto copied = wanted;
  // CHECK: :[[@LINE+1]]:14: warning: 'torch::zeros({3}, copied)' {{.*}} [device-missing-device]
  return x + torch::zeros({3}, copied);
}

// The host's branch, and what is left after it.
torch::Tensor earlyReturn(const torch::Tensor &x) {
  if (!x.is_cuda())
    return x + torch::zeros({3});
  // CHECK: :[[@LINE+1]]:14: warning: 'torch::ones({3})' {{.*}} [device-missing-device]
  return x + torch::ones({3});
}
torch::Tensor byType(const torch::Tensor &x) {
  if (x.device().type() == torch::kCPU)
    return x + torch::zeros({3});
  else
    // CHECK: :[[@LINE+1]]:16: warning: 'torch::ones({3})' {{.*}} [device-missing-device]
    return x + torch::ones({3});
}
torch::Tensor checkedHost(const torch::Tensor &x) {
  CHECK_HOST(x);
  return x + torch::zeros({3});
}
torch::Tensor checkedDevice(const torch::Tensor &x) {
  CHECK_CUDA(x);
  // CHECK: :[[@LINE+1]]:14: warning: 'torch::zeros({3})' {{.*}} [device-missing-device]
  return x + torch::zeros({3});
}

// Bodies of lambdas, with what was known where they are written.
torch::Tensor inLambda(torch::Tensor x) {
  auto host = torch::zeros({3});
  auto moved = host.to(x.device());
  // CHECK: :[[@LINE-2]]:15: warning: 'torch::zeros({3})' {{.*}} [device-missing-device]
  auto add = [&] { x += moved + host; };
  add();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "inLambda", [&] {
    // CHECK: :[[@LINE+1]]:10: warning: 'torch::ones({3})' {{.*}} [device-missing-device]
    x += torch::ones({3});
  });
  return x;
}

// Through a chain of helpers, with the arguments' devices.
static torch::Tensor scaled(torch::Tensor x, double by) { return x * by; }
static torch::Tensor table(int n) { return scaled(torch::arange(n, torch::kFloat), 0.5); }
static torch::Tensor tableFor(const torch::Tensor &x, int n) { return table(n).to(x.device()); }
torch::Tensor helpers(const torch::Tensor &x) {
  // CHECK: :[[@LINE+1]]:35: warning: 'table(3)' {{.*}} [device-missing-device]
  return x * tableFor(x, 3) + x * table(3);
}
// A helper that calls itself says nothing.
static torch::Tensor halved(torch::Tensor x, int n) { return n ? halved(x.cpu(), n - 1) : torch::zeros({3}); }
torch::Tensor recursive(const torch::Tensor &x) { return x * halved(x, 3); }

// Other devices are devices.
torch::Tensor anyDevice(const torch::Tensor &x) {
  // CHECK: warning: 'x.cpu()' goes back to the current xpu device{{.*}} [device-cpu-round-trip]
  // CHECK: warning: 'x.cpu()' goes to the current xpu device{{.*}} [device-bare-cuda]
  auto y = x.cpu().to(torch::kXPU);
  // CHECK: warning: 'torch::ones({3}, torch::kMPS)' is made on the current mps device{{.*}} [device-bare-cuda]
  return x + torch::ones({3}, torch::kMPS);
}
