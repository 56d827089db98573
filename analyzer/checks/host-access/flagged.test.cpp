// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <cstring>

// Made on a device a few lines before.
float first() {
  auto x = torch::zeros({4}, torch::kCUDA);
  const float *data = x.data_ptr<float>();
  // CHECK: :[[@LINE-1]]:25: error: the host follows a pointer into 'x', which is on the current cuda device [device-host-access]
  return data[0];
  // CHECK: :[[@LINE-1]]:10: note: followed here
}

void inLine(at::Tensor y) {
  auto x = y.to(torch::Device(torch::kCUDA, 1));
  *x.data_ptr<float>() = 1;
  // CHECK: :[[@LINE-1]]:6: error: the host follows a pointer into 'x', which is on cuda:1 [device-host-access]
}

void copied(void *out) {
  auto x = torch::ones({4}).cuda();
  memcpy(out, x.data_ptr(), 16);
  // CHECK: :[[@LINE-1]]:17: error: the host follows{{.*}}[device-host-access]
}

float accessed() {
  auto x = torch::zeros({4}, torch::kCUDA);
  auto a = x.accessor<float, 1>();
  // CHECK: :[[@LINE-1]]:14: error: the host follows{{.*}}[device-host-access]
  // CHECK: note: followed here
  return a[0];
}
