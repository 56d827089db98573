#pragma once

namespace devsan::metrics {

// When values that a metric is not defined for (a class that does not exist, a negative density)
// are noticed. Which values these are is said by the metric.
enum class Validate {
  kAuto,     // kEager for CPU inputs, where looking costs no wait, else kDeferred
  kEager,    // in update(): it throws and the states stay as they were; waits for a device
  kDeferred, // in compute(): update() leaves such samples out and counts them on the device
};

} // namespace devsan::metrics
