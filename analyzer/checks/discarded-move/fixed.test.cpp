// RUN: cp %s %t.cpp
// RUN: %devsan_check --checks=device-discarded-move --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock || true
// RUN: FileCheck --input-file=%t.cpp %s
#include <torch/torch.h>

#include <vector>

#define ON_DEVICE(x) x.cuda()

struct Batch {
  torch::Tensor data;
};

torch::Tensor run(torch::Tensor x, const torch::Tensor &y, Batch *batch, std::vector<torch::Tensor> list) {
  // CHECK: {{^  }}x = x.to(y.device());
  x.to(y.device());
  // CHECK: {{^  }}batch->data = batch->data.cuda();
  batch->data.cuda();
  // Nothing can be assigned to these, or nobody would see it.
  // CHECK: {{^  }}y.to(x);
  y.to(x);
  for (torch::Tensor &element : list)
    // CHECK: {{^    }}element.cuda();
    element.cuda();
  // CHECK: {{^  }}ON_DEVICE(x);
  ON_DEVICE(x);
  return x + y + batch->data;
}
