#pragma once

#include <ATen/core/Tensor.h>

#include "metrics/detail/capture.h"

namespace devsan::metrics::detail {

// A tensor that follows from a metric's options, made once for a device. What is made in a CUDA
// graph has no values before its replay, and so is the graph's alone.
class Constant {
public:
  template <class Make> at::Tensor on(at::Device device, const Make &make) const {
    if (made_.defined() && made_.device() == device)
      return made_;
    at::Tensor made = make(device);
    if (!is_capturing(device))
      made_ = made;
    return made;
  }

private:
  mutable at::Tensor made_;
};

} // namespace devsan::metrics::detail
