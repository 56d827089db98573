// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

#include <cstring>
#include <vector>

// Nothing says that it is on a device.
float first(at::Tensor values) { return values.data_ptr<float>()[0]; }

float moved(const at::Tensor &x) {
  auto host = x.cpu();
  return host.data_ptr<float>()[0];
}

at::Tensor filled(const at::Tensor &x) {
  auto host = torch::zeros({4});
  auto a = host.accessor<float, 1>();
  for (int i = 0; i < 4; ++i)
    a[i] = i;
  return host.to(x.device());
}

void reassigned() {
  auto x = torch::zeros({4}, torch::kCUDA);
  x = x.to(torch::kCPU);
  x.data_ptr<float>()[0] = 1;
}

// A pointer is passed on, and counted on, not followed.
void launch(float *data);
void passed() {
  auto x = torch::zeros({4}, torch::kCUDA);
  float *data = x.data_ptr<float>();
  launch(data + 1);
  launch(&data[2]);
}

// Checked, and then something else, or the other branch.
float checked(at::Tensor x) {
  float first = 0;
  if (x.is_cuda()) {
    auto host = x.cpu();
    first = host.data_ptr<float>()[0];
  } else {
    first = x.data_ptr<float>()[0];
  }
  TORCH_CHECK(x.is_cuda());
  x = x.to(torch::kCPU);
  return first + x.data_ptr<float>()[0];
}
float either(const at::Tensor &x, float *staged) {
  const float *data = x.data_ptr<float>();
  if (x.is_cuda())
    return staged[0];
  return data[0];
}

// Pointers that are kept, not followed.
struct Span {
  const float *data;
  long size;
};
void kept() {
  auto x = torch::zeros({4}, torch::kCUDA);
  std::vector<const float *> pointers{x.data_ptr<float>(), x.data_ptr<float>()};
  std::vector<Span> spans(1, Span{x.data_ptr<float>(), x.numel()});
}
