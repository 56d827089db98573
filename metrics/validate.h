#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::metrics {

// When values that a metric is not defined for (a class that does not exist, a negative density)
// are noticed. Which values these are is said by the metric.
enum class Validate {
  kAuto,     // kEager for CPU inputs, where looking costs no wait, else kDeferred
  kEager,    // in update(): it throws and the states stay as they were; waits for a device
  kDeferred, // in compute(): update() leaves such samples out and counts them on the device
};

// Whether update() is to read the verdict on `input` itself. Never on `meta`, which has no values.
inline bool validates_eagerly(Validate validate, const at::Tensor &input) {
  const bool eager =
      validate == Validate::kEager || (validate == Validate::kAuto && input.is_cpu());
  return eager && !input.is_meta();
}

} // namespace devsan::metrics
