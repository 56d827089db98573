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

// In place.
void normalize(torch::Tensor &x) { x = x * 2; }
void changedThere(torch::Tensor &x) {
  normalize(x);
  // CHECK: :[[@LINE+1]]:33: warning: {{.*}} [device-bare-cuda]
  auto noise = torch::ones({3}, torch::kCUDA);
  x = x + noise;
}
void unseen(torch::Tensor &x);
void changedSomewhere(torch::Tensor &x) {
  unseen(x);
  // CHECK: :[[@LINE+1]]:33: warning: {{.*}} [device-bare-cuda]
  auto noise = torch::ones({3}, torch::kCUDA);
  x = x + noise;
}
// On one way only.
void setOnce(torch::Tensor &state, bool first) {
  if (first)
    state = torch::zeros({3});
  // CHECK: :[[@LINE+1]]:31: warning: {{.*}} [device-bare-cuda]
  auto one = torch::ones({3}, torch::kCUDA);
  state = state + one;
}
void make(torch::Tensor &made, float *memory) { made = torch::from_blob(memory, {3}); }
void madeThere(torch::Tensor &out, float *memory) {
  make(out, memory);
  auto x = torch::ones({3}, torch::kCUDA);
  out = x;
}
