// RUN: %cxx_torch %s -o %t
// RUN: %status 3 %sim -- %t 2>&1 | %file_check
#include <torch/torch.h>

class Mean {
public:
  Mean() : total_(torch::zeros({4})) {}
  void update(const torch::Tensor &x) {
    // CHECK: flagged.test.cpp:[[#@LINE+2]]:{{[0-9]+}}: error: a state made earlier ({{.*}}float32 [4]) stayed on cpu while its inputs are on cuda:1: aten::add_ refused once [device-unregistered-state]
    // CHECK: flagged.test.cpp:[[#@LINE-3]]:{{[0-9]+}}: note: made on cpu here
    total_ += x;
  }

private:
  torch::Tensor total_;
};

int main() {
  Mean mean;
  try {
    mean.update(torch::ones({4}, torch::Device("cuda:1")));
  } catch (const c10::Error &) {
  }
}
// CHECK: 1 finding (1 error, 0 warnings, 0 notes)
