// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <cstring>
#include <vector>

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

// The library copies what is there.
std::vector<float> listed() {
  auto x = torch::zeros({4}, torch::kCUDA);
  return std::vector<float>(x.data_ptr<float>(), x.data_ptr<float>() + x.numel());
  // CHECK: :[[@LINE-1]]:31: error: the host follows{{.*}}[device-host-access]
}

float offset() {
  auto x = torch::zeros({4}, torch::kCUDA);
  const float *data = x.data_ptr<float>() + 2;
  // CHECK: :[[@LINE-1]]:25: error: the host follows{{.*}}[device-host-access]
  // CHECK: note: followed here
  return *(data + 1);
}

// The function checks that it is on a device.
long longest(const at::Tensor &lengths) {
  TORCH_CHECK(lengths.is_cuda());
  // CHECK: :[[@LINE+1]]:29: error: the host follows a pointer into 'lengths', which was checked to be on a device [device-host-access]
  const long *all = lengths.data_ptr<long>();
  return all[0];
  // CHECK: note: followed here
}
float accessedAfterCheck(const at::Tensor &x) {
  if (x.device().type() == torch::kCPU)
    return 0;
  // CHECK: error: the host follows a pointer into 'x', which was checked to be on a device [device-host-access]
  return x.accessor<float, 1>()[0];
}
