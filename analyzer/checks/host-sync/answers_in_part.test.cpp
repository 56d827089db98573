// Where a header is missing, a model is still seen to run, and what nothing is known of works on no device.
// RUN: not %check_mock | %file_check
#include <missing.h>
#include <torch/torch.h>

#include <string>
#include <vector>

void draw(const float *values);

void classify(torch::nn::Linear model, const std::vector<std::string> &names, bool twice) {
  model->to(torch::kCUDA);
  for (const auto &name : names) {
    auto image = missing::read(name);
    auto output = model->forward(image);
    output = output.argmax(1);
    output = output.to(torch::kCPU);
    missing::show(output, image);
    draw(reinterpret_cast<float *>(output.data_ptr()));
  }
  for (const auto &name : names) {
    auto image = missing::read(name);
    auto output = model->forward(image);
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'output.to(torch::kCPU)' copies {{.*}} [device-host-sync]
    auto here = output.to(torch::kCPU);
    if (twice)
      output = output.argmax(1);
  }
}
