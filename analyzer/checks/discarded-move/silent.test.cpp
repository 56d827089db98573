// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

#include <tuple>

#define MAY_THROW(statement)                                                                       \
  {                                                                                                \
    statement;                                                                                     \
  }

torch::Tensor moved(torch::Tensor x, torch::nn::Linear model, torch::Device device) {
  model->to(device);
  x = x.to(device);
  auto y = x.to(device), z = x.cpu();
  // A dtype is no device.
  x.to(torch::kFloat);
  // It is there already.
  auto loss = (x * y).sum();
  loss.to(device);
  z.cpu();
  z.to(torch::kCPU);
  if (y.is_cuda())
    throw 1;
  y.cpu();
  // Said to be meant.
  (void)x.to(device);
  std::ignore = x.to(device);
  MAY_THROW(x.to(device));
  z = ({ x.to(device); });
  return x.defined() ? y.cuda() : z;
}

// Whether there is a device, its first use, and how long copies take.
bool hasDevice(torch::Tensor x) {
  try {
    x.cuda();
    return true;
  } catch (...) {
    return false;
  }
}
void start(torch::Device device) {
  torch::zeros({1}).to(device);
  auto x = torch::rand({1024});
  x.to(device);
  for (int i = 0; i < 10; ++i)
    x.to(device);
}
