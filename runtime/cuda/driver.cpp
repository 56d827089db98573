#include "runtime/cuda/driver.h"

#include "runtime/cuda/calls.h"

#include <dlfcn.h>

namespace devsan::runtime::cuda {
namespace {

// Of CUDA's enumeration of pointer attributes.
enum { kMemoryType = 2, kIsManaged = 8, kOrdinal = 9 };
enum { kHostType = 1 };

constinit DriverFunction<int(void *, int, unsigned long long)>
    pointer_attribute("cuPointerGetAttribute");
constinit DriverFunction<int(int *)> context_device("cuCtxGetDevice");
constinit DriverFunction<int(int, unsigned *, int *)> primary_state("cuDevicePrimaryCtxGetState");
constinit DriverFunction<int(int *)> count_devices("cuDeviceGetCount");

template <typename Value> bool attribute(Value &value, int which, const void *address) {
  auto *get = pointer_attribute.get();
  return get && get(&value, which, reinterpret_cast<std::uintptr_t>(address)) == 0;
}

} // namespace

void *realFunction(const char *name) {
  static const auto find =
      reinterpret_cast<DevSanRealCuda>(dlsym(RTLD_DEFAULT, "devsan_preload_real_cuda"));
  return find ? find(name) : nullptr;
}

Memory memoryAt(const void *address) {
  unsigned type = 0, is_managed = 0;
  Memory memory;
  if (!address || !attribute(type, kMemoryType, address))
    return memory;
  attribute(is_managed, kIsManaged, address);
  if (type == kHostType && !is_managed) {
    memory.kind = MemoryKind::kPinned;
    return memory;
  }
  memory.kind = MemoryKind::kDevice;
  if (!attribute(memory.device, kOrdinal, address))
    memory.device = -1;
  return memory;
}

int currentDevice() {
  auto *get = context_device.get();
  int device = -1;
  return get && get(&device) == 0 ? device : -1;
}

bool hasPrimaryContext(int device) {
  auto *get = primary_state.get();
  unsigned flags = 0;
  int is_active = 0;
  return get && get(device, &flags, &is_active) == 0 && is_active;
}

int deviceCount() {
  auto *get = count_devices.get();
  int count = 0;
  return get && get(&count) == 0 ? count : 0;
}

} // namespace devsan::runtime::cuda
