#include "runtime/record/device_keys.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <vector>

namespace devsan::runtime {

std::span<const c10::DispatchKey> deviceKeys() {
  static const auto *keys = [] {
    auto *result = new std::vector<c10::DispatchKey>;
    auto empty = c10::Dispatcher::singleton().findSchemaOrThrow("aten::empty", "memory_format");
    for (c10::DispatchKey key :
         {c10::DispatchKey::CUDA, c10::DispatchKey::HIP, c10::DispatchKey::XPU,
          c10::DispatchKey::MPS, c10::DispatchKey::PrivateUse1})
      if (empty.hasKernelForDispatchKey(key))
        result->push_back(key);
    return result;
  }();
  return *keys;
}

} // namespace devsan::runtime
