// RUN: %cxx_torch %s -o %t
// RUN: %status 1 %sim -- %t 2>&1 | %file_check
#include <torch/torch.h>

int main() {
  torch::nn::Sequential model(torch::nn::Linear(8, 4));
  model->to(torch::Device("cuda:1"));
  model->push_back(torch::nn::Linear(4, 2));
  try {
    // CHECK: flagged.test.cpp:[[#@LINE+2]]:{{[0-9]+}}: error: the module was moved to cuda:1, but parameters ({{.*}}float32 [2]{{.*}}) stayed on cpu: aten::{{addmm|linear}} refused once [device-module-replaced-after-to]
    // CHECK: flagged.test.cpp:[[#@LINE-3]]:{{[0-9]+}}: note: made on cpu here
    model->forward(torch::ones({3, 8}, torch::Device("cuda:1")));
  } catch (const c10::Error &) {
    return 1;
  }
}
// CHECK: 1 finding (1 error, 0 warnings, 0 notes)
