#pragma once
#include "CUDAContext.h"

namespace at::cuda {
struct CUDAEvent {
  void record();
  void synchronize() const;
};
} // namespace at::cuda
