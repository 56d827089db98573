// RUN: not %check_mock | %file_check
#include <torch/torch.h>

#include <memory>
#include <vector>

struct Batch {
  torch::Tensor data, target;
};

torch::Tensor loss(torch::Tensor x, const torch::Tensor &y, Batch &batch, torch::Device device) {
  // CHECK: :[[@LINE+1]]:5: error: 'x.to(device)' moves nothing in place: the tensor that it returns is discarded [device-discarded-move]
  x.to(device);
  // CHECK: :[[@LINE+1]]:5: error: 'y.to(x)' moves nothing in place: {{.*}} [device-discarded-move]
  y.to(x);
  // CHECK: :[[@LINE+1]]:14: error: 'batch.data.cuda()' moves nothing in place: {{.*}} [device-discarded-move]
  batch.data.cuda();
  if (y.defined())
    // CHECK: :[[@LINE+1]]:18: error: 'batch.target.to(device, torch::kFloat)' moves nothing in place: {{.*}} [device-discarded-move]
    batch.target.to(device, torch::kFloat);
  else
    // CHECK: :[[@LINE+1]]:18: error: 'batch.target.cpu()' moves nothing in place: {{.*}} [device-discarded-move]
    batch.target.cpu();
  return x + y + batch.data + batch.target;
}

void all(std::vector<torch::Tensor> &tensors, std::shared_ptr<torch::Tensor> shared, torch::Tensor *one) {
  for (torch::Tensor &tensor : tensors)
    // CHECK: :[[@LINE+1]]:12: error: 'tensor.to(torch::kCUDA)' moves nothing in place: {{.*}} [device-discarded-move]
    tensor.to(torch::kCUDA);
  // CHECK: :[[@LINE+2]]:14: error: 'tensors[0].cpu()' moves nothing in place: {{.*}} [device-discarded-move]
  // CHECK: :[[@LINE+1]]:29: error: 'shared->cpu()' moves nothing in place: {{.*}} [device-discarded-move]
  tensors[0].cpu(), shared->cpu();
  // CHECK: :[[@LINE+1]]:28: error: 'one->cpu()' moves nothing in place: {{.*}} [device-discarded-move]
  auto later = [&] { (one->cpu()); };
  later();
}

// Used afterwards, so nobody only wanted to wake the device up.
torch::Tensor made(torch::Device device) {
  auto x = torch::zeros({1});
  // CHECK: :[[@LINE+1]]:5: error: 'x.to(device)' moves nothing in place: {{.*}} [device-discarded-move]
  x.to(device);
  return x;
}
torch::Tensor madeAndAliased(torch::Tensor x, torch::Device device) {
  auto t = torch::ones({1});
  auto &alias = t;
  // CHECK: :[[@LINE+1]]:9: error: 'alias.to(device)' moves nothing in place: {{.*}} [device-discarded-move]
  alias.to(device);
  return x + alias;
}

// Reached through `*this` alone.
struct Own {
  torch::Tensor data;
  torch::Tensor &get() { return data; }
  torch::Tensor *operator->() { return &data; }
  void move(torch::Device device) {
    // CHECK: :[[@LINE+1]]:11: error: 'get().to(device)' moves nothing in place: {{.*}} [device-discarded-move]
    get().to(device);
    // CHECK: :[[@LINE+1]]:14: error: '(*this)->to(device)' moves nothing in place: {{.*}} [device-discarded-move]
    (*this)->to(device);
  }
};
struct List : std::vector<torch::Tensor> {
  void move(torch::Device device) {
    // CHECK: :[[@LINE+1]]:11: error: 'at(0).to(device)' moves nothing in place: {{.*}} [device-discarded-move]
    at(0).to(device);
    // CHECK: :[[@LINE+1]]:16: error: '(*this)[0].to(device)' moves nothing in place: {{.*}} [device-discarded-move]
    (*this)[0].to(device);
    for (auto &element : *this)
      // CHECK: :[[@LINE+1]]:15: error: 'element.to(device)' moves nothing in place: {{.*}} [device-discarded-move]
      element.to(device);
  }
};
struct Derived : torch::Tensor {
  // CHECK: :[[@LINE+1]]:37: error: 'to(device)' moves nothing in place: {{.*}} [device-discarded-move]
  void move(torch::Device device) { to(device); }
};

// It is there, but of another type.
void halve(torch::Tensor x, torch::Device device) {
  auto y = x.to(device);
  // CHECK: :[[@LINE+1]]:5: error: 'y.to(device, torch::kHalf)' moves nothing in place: {{.*}} [device-discarded-move]
  y.to(device, torch::kHalf);
}

// Options and another tensor have a dtype as well, and the current device may have changed.
void similar(torch::Tensor x, torch::Tensor other, torch::Device device) {
  auto y = x.to(other.device());
  // CHECK: :[[@LINE+1]]:5: error: 'y.to(other)' moves nothing in place: {{.*}} [device-discarded-move]
  y.to(other);
  auto z = x.to(torch::kCUDA);
  // CHECK: :[[@LINE+1]]:5: error: 'z.to(torch::kCUDA)' moves nothing in place: {{.*}} [device-discarded-move]
  z.to(torch::kCUDA);
  auto options = torch::TensorOptions().dtype(torch::kHalf).device(device);
  auto w = x.to(device);
  // CHECK: :[[@LINE+1]]:5: error: 'w.to(options)' moves nothing in place: {{.*}} [device-discarded-move]
  w.to(options);
  // CHECK: :[[@LINE+1]]:5: error: 'w.to(torch::TensorOptions().dtype(torch::kHalf).device(devi{{.*}} moves nothing in place: {{.*}} [device-discarded-move]
  w.to(torch::TensorOptions().dtype(torch::kHalf).device(device));
}
