#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::metrics::detail {

// A tensor of the CPU on `device`, by way of pinned memory, for which the host does not wait.
inline at::Tensor from_host(const at::Tensor &numbers, at::Device device) {
  const bool pinned = !device.is_cpu() && !device.is_meta() && numbers.numel() != 0;
  return (pinned ? numbers.pin_memory() : numbers).to(device, /*non_blocking=*/pinned);
}

} // namespace devsan::metrics::detail
