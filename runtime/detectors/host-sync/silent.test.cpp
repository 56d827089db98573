// RUN: %cxx_torch %s -o %t
// RUN: %status 0 %sim --fail-on=device-host-sync --report=%t.txt -- %t 2>&1 | FileCheck %s --check-prefix=TERMINAL
// RUN: %file_check < %t.txt
#include <devsan/devsan.h>
#include <iostream>
#include <torch/torch.h>

// TERMINAL-NOT: [device-
// TERMINAL: no findings
// TERMINAL: 1 note not shown
int main() {
  torch::nn::Sequential model(torch::nn::Linear(4, 4), torch::nn::Linear(4, 2));
  model->to(torch::Device("cuda:1"));
  const auto x = torch::ones({4}, torch::Device("cuda:1"));
  for (int step = 0; step < 3; ++step) {
    model->forward(x);
    const devsan::AllowSync allow;
    x.sum().item<float>();
  }
  // A result that is read once is a note, which only the report's file shows.
  // CHECK: silent.test.cpp:[[#@LINE+1]]:{{[0-9]+}}: note: the host waited for cuda:1 in aten::item, once [device-host-sync]
  std::cout << x.sum().item<float>() << "\n";
}
