// What other files give a function, leave in a member or return decides where it lies, also when one file is analysed alone.
// DEFINE: %{check} = %devsan_check --checks=device-host-sync,device-missing-device --torch=none --no-cache
// DEFINE: %{flags} = -std=c++17 -isystem %mock
// RUN: rm -rf %t && split-file %s %t && mkdir -p %t/.git && touch %t/setup.py
// RUN: %{check} %t -- %{flags} | FileCheck %s --check-prefix=NONE
// RUN: %{check} %t/sums.cpp -- %{flags} | FileCheck %s --check-prefix=NONE
// NONE: no findings
// One file that gives data of a device is enough; what only tests give says nothing.
// RUN: mkdir %t/tests && mv %t/main.cpp %t/tests && not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=TESTED
// TESTED: sums.cpp:5:{{.*}} 'rows[i].item<double>()' {{.*}} [device-host-sync]
// TESTED: sums.cpp:20:{{.*}} 'torch::zeros({3})' {{.*}} [device-missing-device]
// RUN: mv %t/tests/main.cpp %t && echo 'void last(Frame &frame, torch::Device device) { frame.depth = frame.depth.to(device); sumOf(frame.depth); overlap(frame.depth); } void Poses::move(torch::Device device) { all_ = all_.to(device); }' >> %t/frames.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-'
// CHECK: sums.cpp:5:{{.*}} 'rows[i].item<double>()' {{.*}} [device-host-sync]
// CHECK: sums.cpp:11:{{.*}} 'frame.depth[i].item<double>()' {{.*}} [device-host-sync]
// CHECK: sums.cpp:17:{{.*}} 'pose[0].item<double>()' {{.*}} [device-host-sync]
// CHECK: sums.cpp:20:{{.*}} 'torch::zeros({3})' {{.*}} [device-missing-device]
// A member that is handed out may be set there, and a function whose address is taken is called from anywhere.
// RUN: sed -i '/^void last/d' %t/frames.cpp && echo 'void fill(torch::Tensor &); void g(Frame &frame) { fill(frame.depth); } auto address = &overlap;' >> %t/frames.cpp
// RUN: not %{check} %t/sums.cpp -- %{flags} | FileCheck %s --implicit-check-not='[device-' --check-prefix=GIVEN
// GIVEN: sums.cpp:5:{{.*}} [device-host-sync]
// GIVEN: sums.cpp:11:{{.*}} [device-host-sync]
// GIVEN: sums.cpp:20:{{.*}} [device-missing-device]

//--- frames.h
#include <torch/torch.h>
struct Frame {
  torch::Tensor depth;
};
class Poses {
public:
  explicit Poses(torch::Device device);
  Poses() {}
  torch::Tensor at(int i) const;
  void move(torch::Device device);

private:
  torch::Tensor all_;
};
double sumOf(const torch::Tensor &rows);
torch::Tensor overlap(torch::Tensor boxes);
double depthOf(Frame &frame, const Poses &poses, torch::Device device);

//--- frames.cpp
#include "frames.h"
Frame read(const torch::Tensor &x) { return Frame{x.to(torch::kCPU)}; }
torch::Tensor Poses::at(int i) const { return all_[i]; }

//--- poses.cpp
#include "frames.h"
Poses make() { return Poses(torch::kCPU); }
Poses::Poses(torch::Device device) { all_ = torch::zeros({3, 3}); }

//--- sums.cpp
#include "frames.h"
double sumOf(const torch::Tensor &rows) {
  double total = 0;
  for (int i = 0; i < 3; ++i)
    total += rows[i].item<double>();
  return total;
}
double depthOf(Frame &frame, const Poses &poses, torch::Device device) {
  double total = device.index();
  for (int i = 0; i < 3; ++i)
    total += frame.depth[i].item<double>();
  return total;
}
double pathOf(const Poses &poses) {
  double total = 0;
  for (auto pose = poses.at(0); total < 9;)
    total += pose[0].item<double>();
  return total;
}
torch::Tensor overlap(torch::Tensor boxes) { return boxes * torch::zeros({3}); }

//--- main.cpp
#include "frames.h"
Frame read(const torch::Tensor &x);
int main() {
  Frame frame = read(torch::ones({3}));
  Poses poses;
  overlap(frame.depth);
  return sumOf(frame.depth) + sumOf(poses.at(1)) + depthOf(frame, poses, torch::kCUDA);
}
