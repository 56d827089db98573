// What operators do to the host on a device: which can copy between devices or make the host wait
// for one, and how their arguments decide whether a call does. One table for both libraries: the
// hooks wrap these operators and record what happens; the simulator makes the host wait where a
// device would. What is missing here is not seen. Derived from ATen's CUDA host code; compared with
// a recording of it by runtime/sim/sweep/blocking_test.py.
// The functions run on any thread, before the operator, and may throw on arguments that the
// operator itself is about to refuse.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace devsan::runtime {

// What one call does. Without a copy, `from` is the device that the host waits for.
struct Effect {
  bool blocks = false;
  bool copies = false;
  // One of its waits is among those that torch.cuda.set_sync_debug_mode knows. The others are
  // inside of libraries, and of copies that were asked not to block.
  bool seen_by_sync_debug = false;
  c10::Device from = c10::Device(c10::kCPU);
  c10::Device to = c10::Device(c10::kCPU);
  std::uint64_t bytes = 0;
  std::uint32_t flags = 0; // EventFlags beyond kBlocks

  bool any() const { return blocks || copies; }
  // The device that the host waits for.
  c10::Device waitsFor() const { return from.is_cpu() ? to : from; }
};

using Arguments = std::span<const c10::IValue>;
using EffectFunction = Effect (*)(Arguments);

// Kinds of tensors, each with dispatch keys of its own; as bits.
enum Layouts : std::uint8_t {
  kDense = 1u << 0,
  kSparse = 1u << 1,
  kSparseCompressed = 1u << 2,
  kQuantized = 1u << 3,
  kNested = 1u << 4,
};
inline constexpr Layouts kLayouts[] = {kDense, kSparse, kSparseCompressed, kQuantized, kNested};

struct OperatorEffect {
  const char *name;
  const char *overload;
  std::uint8_t layouts;
  EffectFunction effect;
};

// An operator may have several rows, for different layouts.
std::span<const OperatorEffect> operatorEffects();

// Null where a call never copies or waits.
EffectFunction findEffect(std::string_view name, std::string_view overload, Layouts layout);

// Of copy_ and _local_scalar_dense, for callers without a stack of arguments.
Effect copyEffect(const at::Tensor &to, const at::Tensor &from, bool non_blocking);
Effect readEffect(const at::Tensor &tensor);

// Whether a non_blocking copy of `bytes` from pageable memory of `from` to `to` lets the host go on
// all the same.
bool isStaged(c10::Device from, c10::Device to, std::uint64_t bytes);

} // namespace devsan::runtime
