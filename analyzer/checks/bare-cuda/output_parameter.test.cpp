// What a function makes for its caller is on no device before, so it tells of none.
// RUN: not %check_mock | %file_check
#include <torch/torch.h>

void segment(const std::vector<torch::Tensor> &levels, torch::Tensor &mask);

void set(torch::Tensor &out) {
  auto x = torch::ones({3}, torch::kCUDA);
  out = x * 2;
}
void handedOn(float *memory, torch::Tensor &mask) {
  auto level = torch::from_blob(memory, {3}, torch::TensorOptions().device(torch::kCUDA));
  segment({level}, mask);
}
// It is read, too.
void changed(torch::Tensor &out) {
  // CHECK: :[[@LINE+1]]:29: warning: {{.*}} is made on the current cuda device, whichever device 'out' is on{{.*}} [device-bare-cuda]
  auto x = torch::ones({3}, torch::kCUDA);
  out = out + x;
}
void added(torch::Tensor &out) {
  // CHECK: :[[@LINE+1]]:29: warning: {{.*}} [device-bare-cuda]
  auto x = torch::ones({3}, torch::kCUDA);
  out.add_(x);
}
void segmented(torch::Tensor mask) {
  // CHECK: :[[@LINE+1]]:29: warning: {{.*}} [device-bare-cuda]
  auto x = torch::ones({3}, torch::kCUDA);
  segment({x}, mask);
}
