// What the runtime asks CUDA's driver itself: nothing of it changes the program's state, its last
// error among it, and nothing is observed. Any thread. Everything is unknown where there is no
// driver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace devsan::runtime::cuda {

enum class MemoryKind { kPageable, kPinned, kDevice };

struct Memory {
  MemoryKind kind = MemoryKind::kPageable;
  int device = -1; // of memory on a device
};

Memory memoryAt(const void *address);

// The device of the thread's current context, -1 where it has none.
int currentDevice();

bool hasPrimaryContext(int device);

// 0 before the program has begun to use the driver.
int deviceCount();

// CUDA's own function, which is not observed; null where no library has brought it. Looked up each
// time while it is not there.
void *realFunction(const char *name);

template <typename Function> class DriverFunction {
public:
  explicit constexpr DriverFunction(const char *name) : name_(name) {}
  Function *get() {
    Function *function = __atomic_load_n(&function_, __ATOMIC_ACQUIRE);
    if (!function) {
      function = reinterpret_cast<Function *>(realFunction(name_));
      __atomic_store_n(&function_, function, __ATOMIC_RELEASE);
    }
    return function;
  }

private:
  const char *name_;
  Function *function_ = nullptr;
};

} // namespace devsan::runtime::cuda
