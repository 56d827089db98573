// Captures with a CUDA build: the driver knows the stream as capturing, so that PyTorch's own code
// does, and no wait gets through.
#include "graphs.h"

#include <atomic>

#include <dlfcn.h>

#include "runtime/sim/graphs/captures.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/streams.h"

namespace devsan::sim {
namespace {

std::atomic<bool> is_capturing{false};

template <typename Function> Function *inDriver(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

} // namespace

bool isCapturing() {
  return is_capturing.load(std::memory_order_relaxed);
}

void enterCapture(c10::Stream stream) {
  static auto *begin = inDriver<void(void *)>("devsan_standin_begin_capture");
  begin(streamHandle(stream));
  beginCapture(stream);
  is_capturing.store(true, std::memory_order_relaxed);
}

bool leaveCapture() {
  static auto *end = inDriver<int()>("devsan_standin_end_capture");
  is_capturing.store(false, std::memory_order_relaxed);
  endCapture();
  return end() != 0;
}

bool hasPools() {
  return false;
}
void holdPool(std::uint64_t) {}
void releasePool(std::uint64_t) {}
std::uint64_t poolOf(const void *) {
  return 0;
}
std::uint64_t stateOfGenerator(const at::Generator &) {
  return 0;
}

} // namespace devsan::sim
