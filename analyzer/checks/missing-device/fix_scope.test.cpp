// An expression is offered only where the name means the same tensor and the tensor is there.
// RUN: not %check_mock | %file_check
// RUN: cp %s %t.cpp
// RUN: not %devsan_check --checks=device-missing-device --torch=none --fix %t.cpp -- -std=c++20 -isystem %mock
// RUN: FileCheck --check-prefix=FIXED --input-file=%t.cpp %s
#include <torch/torch.h>

#include <memory>
#include <utility>
#include <vector>

using torch::Tensor;
struct Batch {
  Tensor data;
};

Tensor parameterOfLambda(const Tensor &x) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: 'torch::zeros({1})' makes a tensor on the CPU that meets 't': pass the device [device-missing-device]
  // FIXED: {{^  }}auto z = torch::zeros({1});
  auto z = torch::zeros({1});
  auto f = [&](const Tensor &t) { return t + z; };
  return f(x);
}
Tensor notCaptured(const Tensor &x) {
  auto make = [](const Tensor &y) {
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'y': pass the device (y.device()) [device-missing-device]
    // FIXED: {{^    }}return y + torch::zeros({2}, y.device());
    return y + torch::zeros({2});
  };
  return make(x);
}
Tensor shadowed(const Tensor &x) {
  Tensor z;
  {
    int x = 3;
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'x': pass the device [device-missing-device]
    // FIXED: {{^    }}z = torch::zeros({x});
    z = torch::zeros({x});
  }
  return x + z;
}
Tensor shadowedByItself(const Tensor &x) {
  Tensor sum = x.clone();
  {
    // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'sum', which is on the device of 'x': pass the device (x.device()) [device-missing-device]
    // FIXED: {{^    }}Tensor other = torch::zeros({3}, x.device());
    Tensor other = torch::zeros({3});
    sum = sum + other;
  }
  return sum;
}
Tensor member(const Batch &batch) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'batch.data': pass the device (batch.data.device()) [device-missing-device]
  // FIXED: {{^  }}auto z = torch::zeros({4}, batch.data.device());
  auto z = torch::zeros({4});
  return batch.data + z;
}
Tensor pointer(const Batch *batch) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'batch->data': pass the device (batch->data.device()) [device-missing-device]
  // FIXED: {{^  }}auto z = torch::zeros({5}, batch->data.device());
  auto z = torch::zeros({5});
  return batch->data + z;
}
Tensor smartPointer(const std::shared_ptr<Batch> &batch) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'batch->data': pass the device (batch->data.device()) [device-missing-device]
  // FIXED: {{^  }}auto z = torch::zeros({6}, batch->data.device());
  auto z = torch::zeros({6});
  return batch->data + z;
}
Tensor element(const std::vector<Batch> &batches) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'batches[0].data': pass the device [device-missing-device]
  // FIXED: {{^  }}auto z = torch::zeros({7});
  auto z = torch::zeros({7});
  return batches[0].data + z;
}
Tensor loop(const std::vector<Batch> &batches) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'batch.data'{{.*}}: pass the device [device-missing-device]
  // FIXED: {{^  }}auto z = torch::zeros({8});
  auto z = torch::zeros({8});
  Tensor sum;
  for (const Batch &batch : batches)
    sum = batch.data + z;
  return sum;
}
Tensor pointerToTensor(const Tensor *x) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets '*x'{{.*}}: pass the device (x->device()) [device-missing-device]
  // FIXED: {{^  }}return torch::zeros({9}, x->device()) + *x;
  return torch::zeros({9}) + *x;
}
Tensor nullPointer(const Tensor *x) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}}: pass the device [device-missing-device]
  // FIXED: {{^  }}auto z = torch::zeros({10});
  auto z = torch::zeros({10});
  return x ? z + *x : z;
}
Tensor undefined(const Tensor &mask, const Tensor &x) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'mask': pass the device [device-missing-device]
  // FIXED: {{^  }}auto z = torch::zeros({11});
  auto z = torch::zeros({11});
  return mask.defined() ? mask + z : x;
}
Tensor movedFrom(Tensor x) {
  Tensor y = std::move(x);
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'y', which is on the device of 'x': pass the device [device-missing-device]
  // FIXED: {{^  }}return y + torch::zeros({12});
  return y + torch::zeros({12});
}
Tensor movedAfterwards(Tensor x, std::vector<Tensor> &kept) {
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}} that meets 'x': pass the device (x.device()) [device-missing-device]
  // FIXED: {{^  }}auto y = x + torch::zeros({13}, x.device());
  auto y = x + torch::zeros({13});
  kept.push_back(std::move(x));
  return y;
}
Tensor ofLocalClass(const Tensor &x) {
  struct Local {
    static Tensor make(const Tensor &y) { return y.clone(); }
  };
  // CHECK: :[[@LINE+2]]:{{[0-9]+}}: warning: {{.*}}: pass the device (x.device()) [device-missing-device]
  // FIXED: {{^  }}return Local::make(x + torch::zeros({14}, x.device()));
  return Local::make(x + torch::zeros({14}));
}

// Pinned memory is on the host on purpose.
Tensor pinned(const Tensor &x) {
  auto host = torch::zeros({3}, torch::TensorOptions().pinned_memory(true));
  auto later = torch::zeros({3}).pin_memory();
  return x - host + later;
}
