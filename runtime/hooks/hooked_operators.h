// Which operators can copy between devices or make the host wait for one, and how their arguments
// decide whether a call does. Only these are wrapped; what is missing here is not seen.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace devsan::runtime {

// What one call does. Without a copy, `from` is the device that the host waits for.
struct Effect {
  bool blocks = false;
  bool copies = false;
  c10::Device from = c10::Device(c10::kCPU);
  c10::Device to = c10::Device(c10::kCPU);
  std::uint64_t bytes = 0;
  std::uint32_t flags = 0; // EventFlags beyond kBlocks

  bool any() const { return blocks || copies; }
};

using Arguments = std::span<const c10::IValue>;

struct HookedOperator {
  const char *name;
  const char *overload;
  Effect (*effect)(Arguments);
};

std::span<const HookedOperator> hookedOperators();

} // namespace devsan::runtime
