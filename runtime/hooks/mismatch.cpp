#include "runtime/hooks/mismatch.h"

#include "runtime/record/device_keys.h"
#include "runtime/record/origins.h"
#include "runtime/record/simulator.h"
#include "runtime/sim/api/observers.h"

#include <ATen/core/Tensor.h>
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

namespace devsan::runtime {
namespace {

// The device that the others count as odd against: the accelerator that most operands live on; on a
// tie one that somebody named, else the first of them. Tensors left on the host are the odd ones
// however many they are.
c10::Device expectedDevice(const std::vector<const at::Tensor *> &operands) {
  c10::Device best(c10::kCPU);
  std::ptrdiff_t best_count = 0;
  bool best_is_named = false;
  for (const at::Tensor *operand : operands) {
    if (operand->device().is_cpu())
      continue;
    auto count = std::count_if(operands.begin(), operands.end(), [&](const at::Tensor *other) {
      return other->device() == operand->device();
    });
    const bool is_named = !originOf(*operand).without_index;
    if (count > best_count || (count == best_count && is_named && !best_is_named)) {
      best = operand->device();
      best_count = count;
      best_is_named = is_named;
    }
  }
  return best;
}

bool isParameter(const at::Tensor &tensor) {
  if (tensor.is_leaf() && tensor.requires_grad())
    return true;
  return tensor.is_view() && tensor._base().is_leaf() && tensor._base().requires_grad();
}

std::string describe(const char *name, const at::Tensor &tensor) {
  std::string text = name && *name ? std::string(name) + ": " : std::string();
  std::string dtype = c10::toString(tensor.scalar_type());
  std::transform(dtype.begin(), dtype.end(), dtype.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  text += dtype == "float"    ? "float32"
          : dtype == "double" ? "float64"
          : dtype == "long"   ? "int64"
          : dtype == "int"    ? "int32"
                              : dtype;
  text += " [";
  for (std::int64_t i = 0; i < tensor.dim(); ++i)
    text += (i ? ", " : "") + std::to_string(tensor.size(i));
  return text + "]";
}

void observe(const char *op, const at::Tensor *const *operands, const char *const *names,
             std::size_t count, const char *message) {
  static std::atomic<std::uint64_t> next_group{1};
  recordUnlessInternal([&] {
    std::vector<const at::Tensor *> defined;
    for (std::size_t i = 0; i < count; ++i)
      if (operands[i] && operands[i]->defined())
        defined.push_back(operands[i]);
    c10::Device expected = expectedDevice(defined);
    Recorder &out = recorder();
    Event event;
    event.kind = EventKind::kMismatch;
    event.group = next_group.fetch_add(1, std::memory_order_relaxed);
    event.op = out.string(op);
    event.detail = out.string(message ? message : "");
    event.stack = out.currentStack();
    event.to = toDeviceId(expected);
    for (std::size_t i = 0; i < count; ++i) {
      if (!operands[i] || !operands[i]->defined() || operands[i]->device() == expected)
        continue;
      const at::Tensor &odd = *operands[i];
      // Operators take scalars from the host.
      if (odd.unsafeGetTensorImpl()->is_wrapped_number())
        continue;
      TensorOrigin origin = originOf(odd);
      event.from = toDeviceId(odd.device());
      event.current_device = std::int8_t(std::min<std::size_t>(i, 127));
      event.operand = out.string(describe(names ? names[i] : nullptr, odd));
      event.related = origin.stack;
      event.flags = (isParameter(odd) ? kLeafParameter : 0) | (origin.is_move ? kOriginIsMove : 0) |
                    (origin.without_index ? kOriginWithoutIndex : 0);
      out.record(event);
    }
  });
}

} // namespace

void observeMismatches() {
  setObservers<DevSanMismatchObserver>("devsan_sim_set_mismatch_observer", observe);
}

} // namespace devsan::runtime
