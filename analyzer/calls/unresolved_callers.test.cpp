// A call whose other arguments have types of a missing header still says where its tensors lie.
// RUN: rm -rf %t && mkdir -p %t/.git && cp %s %t/main.cpp
// RUN: not %devsan_check --torch=none --no-cache %t/main.cpp -- -std=c++17 -isystem %mock | FileCheck %s --implicit-check-not='[device-'
#include <opencv2/opencv.hpp>
#include <torch/torch.h>

cv::Mat draw(cv::Mat image, torch::Tensor scores, bool limbs = true);
cv::Mat draw(cv::Mat image);
cv::Mat show(cv::Mat image, torch::Tensor scores);

int main() {
  cv::Mat image;
  for (int i = 0; i < 3; ++i) {
    torch::Tensor output = torch::ones(3).cuda();
    torch::Tensor scores = output.to(torch::kCPU);
    image = draw(image, scores);
    image = show(image, output * 2);
  }
}

cv::Mat draw(cv::Mat image, torch::Tensor scores, bool limbs) {
  for (int i = 0; i < scores.size(0); ++i)
    if (scores[i].item().toFloat() < 0.7)
      continue;
  return image;
}

cv::Mat show(cv::Mat image, torch::Tensor scores) {
  for (int i = 0; i < scores.size(0); ++i)
    // CHECK: :[[@LINE+1]]:{{[0-9]+}}: warning: 'scores[i].item()' {{.*}} [device-host-sync]
    if (scores[i].item().toFloat() < 0.7)
      continue;
  return image;
}
