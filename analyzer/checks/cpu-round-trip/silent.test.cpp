// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

// Down only, or up only.
double toHost(const torch::Tensor &x) { return x.cpu().sum().item<double>(); }
torch::Tensor toDevice(const torch::Tensor &x, const torch::Tensor &made) {
  auto table = torch::ones({3}).cpu();
  return x + table.to(x.device());
}

// Other data goes back than came.
torch::Tensor otherData(const torch::Tensor &x) {
  auto host = x.cpu();
  host = torch::zeros({4});
  return host.to(x.device());
}

// Known to be on the host: .cpu() copies nothing.
torch::Tensor checked(torch::Tensor x, torch::Device device) {
  TORCH_CHECK(x.device().is_cpu(), "x has to be a CPU tensor");
  return x.cpu().sum().to(device);
}
torch::Tensor branch(torch::Tensor x, torch::Device device) {
  if (x.is_cuda())
    return x;
  return x.cpu().to(device);
}

// A change of dtype is no copy back.
torch::Tensor dtypeOnly(torch::Tensor x) { return x.cpu().to(torch::kDouble); }

// cpu() of something that is no tensor.
struct Registers {
  Registers cpu() const;
  Registers cuda() const;
};
Registers notATensor(Registers registers) { return registers.cpu().cuda(); }
