// RUN: %check_mock | %file_check --allow-empty
#include <torch/torch.h>

// Some tensors of this file are on the host, whatever device the others are on.
at::Tensor shifted(at::Tensor x, at::Tensor offsets) {
  return x + offsets.to(x.device());
}

int first(at::Tensor offsets) { return *offsets.data_ptr<int>(); }
