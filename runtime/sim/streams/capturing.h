// Whether this process captures a CUDA graph: one at a time, on streams other than the default
// ones. Set by devsan/sim/graphs.py, asked by the device guard; any thread.
#pragma once

#include <atomic>

namespace devsan::sim {

inline std::atomic<bool> is_capturing{false};

} // namespace devsan::sim
