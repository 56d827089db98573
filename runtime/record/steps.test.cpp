// RUN: %cxx_torch %s -o %t
// RUN: %status 0 %sim -- %t 2>&1 | %file_check
//
// A program as g++ makes it: with copies of the optimizers' tables of virtual functions.
// RUN: %cxx_torch %s -o %t.copies -fdirect-access-external-data
// RUN: llvm-readelf -r %t.copies | FileCheck --check-prefix=COPY %s
// COPY: R_X86_64_COPY {{.*}} _ZTVN5torch5optim{{3SGD|4Adam}}E
// RUN: %status 0 %sim -- %t.copies 2>&1 | %file_check
#include <memory>
#include <torch/torch.h>

int main() {
  torch::nn::Linear model(4, 2);
  model->to(torch::Device("cuda:1"));
  const auto x = torch::ones({3, 4}, torch::Device("cuda:1"));
  torch::optim::SGD direct(model->parameters(), 0.1);
  std::unique_ptr<torch::optim::Optimizer> virtual_one =
      std::make_unique<torch::optim::Adam>(model->parameters());
  for (int step = 0; step < 8; ++step) {
    // CHECK-DAG: steps.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: {{.*}} in aten::nonzero, 8 times; in every step [device-host-sync]
    x.nonzero();
    model->forward(x).sum().backward();
    if (step < 4)
      direct.step();
    else
      virtual_one->step();
    for (int i = 0; step == 5 && i < 3; ++i)
      // CHECK-DAG: steps.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: warning: {{.*}} in aten::nonzero, 3 times; in 1 of {{[78]}} steps [device-host-sync]
      x.nonzero();
  }
}
