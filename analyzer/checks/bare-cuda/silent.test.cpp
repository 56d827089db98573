// RUN: %check_mock | %file_check --allow-empty
#include <c10/cuda/CUDAGuard.h>
#include <torch/torch.h>

// Nobody says which device.
torch::Tensor upload(torch::Tensor x) { return x.cuda(); }
torch::Tensor uploadBoth(torch::Tensor x, torch::Tensor y) { return x.cuda() + y.cuda(); }
torch::Tensor table() { return torch::zeros({2}, torch::kCUDA); }

// Under a guard the current device is the right one.
torch::Tensor guarded(const torch::Tensor &x) {
  const c10::cuda::CUDAGuard guard(x.device());
  return x + torch::zeros({2}, torch::kCUDA);
}
torch::Tensor guardedDispatch(const torch::Tensor &x) {
  c10::cuda::OptionalCUDAGuard guard(at::device_of(x));
  torch::Tensor out;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "guarded", [&] { out = torch::zeros({2}, torch::kCUDA); });
  return out;
}

// Comparisons and checks mention a device, they do not use one.
bool mentions(const torch::Tensor &x) {
  TORCH_CHECK(x.device().type() == torch::kCUDA, "x must be on cuda:0, cuda or whatever");
  return x.device() == torch::Device(torch::kCUDA, 0) || x.device().type() != torch::kCUDA;
}

// The device is the tensor's.
torch::Tensor right(const torch::Tensor &x, const torch::Tensor &y) {
  auto zeros = torch::zeros({2}, x.options().dtype(torch::kLong));
  torch::Device device = x.device();
  auto ones = torch::ones({2}, torch::TensorOptions().device(device));
  return zeros + ones + y.to(device);
}
torch::Tensor index(const torch::Tensor &x) {
  return torch::zeros({2}, torch::Device(torch::kCUDA, x.get_device()));
}

// A host function: its tensors have nothing to say about GPUs.
torch::Tensor stage(torch::Tensor batch) {
  TORCH_CHECK(batch.is_cpu(), "loader output expected");
  auto doubled = batch * 2;
  return torch::empty({3}, torch::kCUDA);
}

// Set-up code chooses.
int main() {
  torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  torch::nn::Linear model(2, 2);
  model->to(device);
  auto x = torch::ones({2, 2}, device);
  auto y = torch::ones({2, 2}).cuda();
  return model->forward(x).dim() + y.dim();
}

// The program's own choice.
class Settings {
public:
  explicit Settings(torch::Device device) : device_(device) {}
  torch::Tensor scratch() const { return torch::zeros({3}, device_); }

private:
  torch::Device device_;
  torch::Device fallback_ = torch::Device("cuda:0");
};

// Wherever this file calls it, the device is set.
static torch::Tensor scratch(const torch::Tensor &x) { return torch::zeros({3}, torch::kCUDA); }
torch::Tensor guardedByCaller(const torch::Tensor &x) {
  const c10::DeviceGuard guard(x.device());
  return scratch(x);
}
