// RUN: not %check_mock | %file_check
#include <torch/torch.h>

// Code that follows devices and never brings a tensor to the host.
at::Tensor follows(const at::Tensor &x, torch::Device device) { return torch::ones({4}).to(device) + x; }

float sum(at::Tensor values) {
  float total = 0;
  float *data;
  data = values.data_ptr<float>();
  // CHECK: :[[@LINE-1]]:17: error: the host follows a pointer into 'values', which may be on a device [device-host-access]
  for (int64_t i = 0; i < values.numel(); ++i)
    total += data[i];
  // CHECK: :[[@LINE-1]]:14: note: followed here
  return total;
}
