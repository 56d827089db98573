// RUN: not %check_mock | %file_check
#include <torch/torch.h>

torch::Tensor chain(const torch::Tensor &x) {
  // CHECK: :[[@LINE+2]]:28: warning: 'x.cpu().cumsum(0)' goes back to the current cuda device after the data was copied to the CPU: both copies make the host wait; compute on the device, or move once and stay [device-cpu-round-trip]
  // CHECK: :[[@LINE+1]]:12: note: copied to the CPU here
  return x.cpu().cumsum(0).cuda();
}

torch::Tensor acrossVariables(const torch::Tensor &x) {
  auto host = x.to(torch::kCPU);
  auto sorted = host * 2;
  sorted += 1;
  auto result = sorted.sum();
  // CHECK: :[[@LINE+1]]:17: warning: 'result' goes back to the device of 'x' after the data was copied to the CPU on line [[@LINE-4]]: {{.*}} [device-cpu-round-trip]
  return result.to(x.device());
}

// The bug is the same on every device.
torch::Tensor onMps(torch::Tensor x) {
  auto host = x.cpu();
  // CHECK: warning: 'torch::relu(host)' goes back to the current mps device {{.*}} [device-cpu-round-trip]
  return torch::relu(host).to(torch::kMPS);
}

torch::Tensor byOptions(torch::Tensor x) {
  auto options = x.options();
  torch::Tensor host;
  if (x.dim() > 1)
    host = x.cpu();
  else
    host = x.to(torch::Device("cpu"));
  // CHECK: warning: 'host.sum()' goes back to the device of 'x' {{.*}} [device-cpu-round-trip]
  return host.sum().to(options);
}

template <typename T> torch::Tensor inTemplate(const torch::Tensor &x, T scale) {
  // CHECK: :[[@LINE+1]]:18: warning: 'x.cpu()' goes back to the device of 'x' {{.*}} [device-cpu-round-trip]
  return x.cpu().to(x.device());
}
template torch::Tensor inTemplate(const torch::Tensor &, float);
template torch::Tensor inTemplate(const torch::Tensor &, double);

torch::Tensor inLambda(torch::Tensor x) {
  auto host = x.cpu();
  auto back = [&] {
    // CHECK: warning: 'host' goes back to the device of 'x' {{.*}} [device-cpu-round-trip]
    return host.to(x.device());
  };
  return back();
}
