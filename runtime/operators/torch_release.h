// What differs between the releases of LibTorch that the runtime and the simulator compile with,
// from 2.8 on. The rest of the sources is the same for all of them, and takes the newest release's
// names. docs/releases.md shows what works with which; script/try-releases tries a new one.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/version.h>

#define DEVSAN_TORCH_SINCE(major, minor)                                                           \
  (TORCH_VERSION_MAJOR > (major) ||                                                                \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// c10d's classes have these functions from 2.9 on; before that nobody calls ours.
#if DEVSAN_TORCH_SINCE(2, 9)
#define DEVSAN_OVERRIDE_SINCE_2_9 override
#else
#define DEVSAN_OVERRIDE_SINCE_2_9
#endif

namespace devsan::runtime {

#if DEVSAN_TORCH_SINCE(2, 9)
using c10::SafeKernelFunction;
inline SafeKernelFunction computedKernel(const c10::OperatorHandle &op, c10::DispatchKey key) {
  return op.getComputedKernelForDispatchKey(key);
}
#else
using SafeKernelFunction = c10::KernelFunction;

// OperatorHandle keeps its entry to itself. An explicit instantiation may name private members.
template <auto member> struct EntryOfOperator {
  friend const c10::impl::OperatorEntry &entryOf(const c10::OperatorHandle &op) {
    return (op.*member)->op;
  }
};
const c10::impl::OperatorEntry &entryOf(const c10::OperatorHandle &op);
template struct EntryOfOperator<&c10::OperatorHandle::operatorDef_>;

inline SafeKernelFunction computedKernel(const c10::OperatorHandle &op, c10::DispatchKey key) {
  return entryOf(op).lookup(c10::DispatchKeySet(key));
}
#endif

// Whether Python has an object for the tensor.
inline bool isKnownToPython(const at::Tensor &tensor) {
  const auto *slot = tensor.unsafeGetTensorImpl()->pyobj_slot();
#if DEVSAN_TORCH_SINCE(2, 10)
  return slot->load_pyobj() != nullptr;
#else
  return slot->_unchecked_untagged_pyobj() != nullptr;
#endif
}

} // namespace devsan::runtime
