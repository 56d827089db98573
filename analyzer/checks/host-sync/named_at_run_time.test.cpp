// A device that the user may name is not the CPU because that is the default.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>
#include <cstdlib>

double choice(int argc, char **argv, const std::vector<torch::Tensor> &data) {
  torch::Device device(argc > 1 ? argv[1] : "cpu");
  double sum = 0;
  for (const torch::Tensor &x : data)
    // CHECK: :[[@LINE+1]]:31: warning: {{.*}}[device-host-sync]
    sum += x.to(device).sum().item<double>();
  return sum;
}

double assigned(int argc, char **argv, const std::vector<torch::Tensor> &data) {
  std::string name = "cpu";
  if (argc > 1)
    name = argv[1];
  torch::Device device(name);
  double sum = 0;
  for (const torch::Tensor &x : data)
    // CHECK: :[[@LINE+1]]:31: warning: {{.*}}[device-host-sync]
    sum += x.to(device).sum().item<double>();
  return sum;
}

void read(const char *option, std::string &into);

double option(const std::vector<torch::Tensor> &data) {
  std::string name = "cpu";
  read("--device", name);
  torch::Device device(name);
  double sum = 0;
  for (const torch::Tensor &x : data)
    // CHECK: :[[@LINE+1]]:31: warning: {{.*}}[device-host-sync]
    sum += x.to(device).sum().item<double>();
  return sum;
}

double environment(const std::vector<torch::Tensor> &data) {
  const char *name = std::getenv("DEVICE");
  torch::Device device(name ? name : "cpu");
  double sum = 0;
  for (const torch::Tensor &x : data)
    // CHECK: :[[@LINE+1]]:31: warning: {{.*}}[device-host-sync]
    sum += x.to(device).sum().item<double>();
  return sum;
}

double always(const std::vector<torch::Tensor> &data) {
  std::string name = "cpu";
  torch::Device device(name);
  double sum = 0;
  for (const torch::Tensor &x : data)
    // CHECK: :[[@LINE+1]]:14: warning: {{.*}}copies from the device{{.*}}[device-host-sync]
    sum += x.to(device).sum().item<double>();
  return sum;
}
