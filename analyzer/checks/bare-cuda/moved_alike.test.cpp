// A module and its input that are both put on the current device are on one, where no code of the project makes another current.
// DEFINE: %{check} = %devsan_check --checks=device-bare-cuda --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -isystem %mock
// RUN: rm -rf %t && split-file %s %t && mkdir %t/.git
// RUN: not %{check} %t -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// CHECK: detector.cpp:18:{{.*}} 'image' goes to the current cuda device, whichever device the module 'on_two' is on [device-bare-cuda]
// CHECK: detector.cpp:21:{{.*}} whichever device the module 'left' is on [device-bare-cuda]
// CHECK: detector.cpp:24:{{.*}} whichever device the module 'perhaps' is on [device-bare-cuda]
// CHECK: detector.cpp:27:{{.*}} whichever device 'boxes' is on{{.*}} [device-bare-cuda]
// CHECK: detector.cpp:42:{{.*}} whichever device the module's part 'tail' is on [device-bare-cuda]
// RUN: echo 'void choose() { cudaSetDevice(1); }' >> %t/main.cpp
// RUN: not %{check} %t -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=CHOSEN
// CHOSEN: detector.cpp:15:{{.*}} 'image' goes to the current cuda device, whichever device the module 'on_one' is on [device-bare-cuda]
// CHOSEN: detector.cpp:18:{{.*}} [device-bare-cuda]
// CHOSEN: detector.cpp:21:{{.*}} [device-bare-cuda]
// CHOSEN: detector.cpp:24:{{.*}} [device-bare-cuda]
// CHOSEN: detector.cpp:27:{{.*}} [device-bare-cuda]
// CHOSEN: detector.cpp:31:{{.*}} the module 'perhaps' is on [device-bare-cuda]
// CHOSEN: detector.cpp:37:{{.*}} the module's part 'body' is on [device-bare-cuda]
// CHOSEN: detector.cpp:42:{{.*}} [device-bare-cuda]

//--- CMakeLists.txt
add_library(detector detector.cpp)
install(TARGETS detector DESTINATION lib)

//--- detector.h
#include <torch/script.h>
#include <torch/torch.h>
using Net = torch::jit::Module;
class Detector {
public:
  Detector(torch::Device chosen);
  torch::Tensor detect(torch::Tensor image);

private:
  torch::Tensor one(Net &on_one, torch::Tensor image);
  torch::Tensor two(Net &on_two, torch::Tensor image);
  torch::Tensor none(Net &left, torch::Tensor image);
  torch::Tensor always(Net &perhaps, torch::Tensor image);
  torch::Tensor beside(Net &on_one, torch::Tensor image, torch::Tensor boxes);
  torch::Tensor sometimes(Net &perhaps, torch::Tensor image);
  Net one_, two_, left_, perhaps_;
};

//--- detector.cpp
#include "detector.h"
Detector::Detector(torch::Device chosen) {
  one_.to(torch::kCUDA);
  two_.to(torch::kCUDA);
  two_.to(chosen);
  if (torch::cuda::is_available())
    perhaps_.to(torch::kCUDA);
  else
    perhaps_.to(torch::kCPU);
}
torch::Tensor Detector::detect(torch::Tensor x) {
  return one(one_, x) + two(two_, x) + none(left_, x) + always(perhaps_, x) + beside(one_, x, x) + sometimes(perhaps_, x);
}
torch::Tensor Detector::one(Net &on_one, torch::Tensor image) {
  return on_one.forward({image.to(torch::kCUDA)}).toTensor();
}
torch::Tensor Detector::two(Net &on_two, torch::Tensor image) {
  return on_two.forward({image.to(torch::kCUDA)}).toTensor();
}
torch::Tensor Detector::none(Net &left, torch::Tensor image) {
  return left.forward({image.to(torch::kCUDA)}).toTensor();
}
torch::Tensor Detector::always(Net &perhaps, torch::Tensor image) {
  return perhaps.forward({image.to(torch::kCUDA)}).toTensor();
}
torch::Tensor Detector::beside(Net &on_one, torch::Tensor image, torch::Tensor boxes) {
  return on_one.forward({image.to(torch::kCUDA)}).toTensor() + boxes;
}
torch::Tensor Detector::sometimes(Net &perhaps, torch::Tensor image) {
  if (torch::cuda::is_available())
    image = image.to(torch::kCUDA);
  return perhaps.forward({image}).toTensor();
}
struct Put : torch::nn::Module {
  Put() { body->to(torch::kCUDA); }
  torch::nn::Linear body{3, 3};
  torch::Tensor forward(torch::Tensor x) { return body->forward(x.cuda()); }
};
// Never put anywhere.
struct Left : torch::nn::Module {
  torch::nn::Linear tail{3, 3};
  torch::Tensor forward(torch::Tensor x) { return tail->forward(x.cuda()); }
};

//--- main.cpp
#include "detector.h"
int main() { Detector(torch::kCUDA).detect(torch::ones({3})); }
