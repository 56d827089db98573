// Captures and their memory with a CPU build, where streams and memory are the simulator's.
#include <dlfcn.h>

#include "runtime/sim/cpu_build/memory/caching_allocator.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/devices/generators.h"
#include "runtime/sim/graphs/captures.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/streams.h"

namespace devsan::sim {
namespace {

// The stand-in for CUDA's driver, where something has brought it.
template <typename Function> Function *inDriver(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

} // namespace

void enterCapture(c10::Stream stream) {
  if (auto *begin = inDriver<void(void *)>("devsan_standin_begin_capture"))
    begin(streamHandle(stream));
  beginCapture(stream);
}

bool leaveCapture() {
  endCapture();
  auto *end = inDriver<int()>("devsan_standin_end_capture");
  return end == nullptr || end() != 0;
}

bool hasPools() {
  return true;
}

void holdPool(std::uint64_t pool) {
  for (c10::DeviceIndex device = 0; device < deviceCount(); ++device)
    deviceMemory(device).holdMempool(pool);
  captureInto(pool);
}

void releasePool(std::uint64_t pool) {
  for (c10::DeviceIndex device = 0; device < deviceCount(); ++device)
    deviceMemory(device).releaseMempool(pool);
}

std::uint64_t poolOf(const void *address) {
  if (!isDeviceAddress(address) || !isAllocatedBlock(address))
    return 0;
  const Segment &segment = *blockBeginningAt(address)->segment;
  return segment.cached ? segment.pool->key.mempool : 0;
}

std::uint64_t stateOfGenerator(const at::Generator &generator) {
  return stateOf(*generator.unsafeGetGeneratorImpl());
}

} // namespace devsan::sim

// The stand-in for CUDA's runtime asks it of a stream's handle: 1 while it is captured, else 0.
extern "C" __attribute__((visibility("default"))) int devsan_sim_capture_of(const void *handle,
                                                                            std::uint64_t *number) {
  using namespace devsan::sim;
  const std::optional<c10::Stream> stream = streamOfHandle(handle);
  if (!stream || !isCapturing(*stream))
    return 0;
  *number = devsan::sim::detail::capture.load(std::memory_order_relaxed);
  return 1;
}
