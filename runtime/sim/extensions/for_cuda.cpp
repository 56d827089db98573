// The simulated devices as the stand-ins of CUDA's libraries use them.
#include "runtime/cuda/standin/simulator.h"

#include <optional>

#include "runtime/sim/api/c_api.h"
#include "runtime/sim/cpu_build/memory/caching_allocator.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/kernel_allocator.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/memory/place.h"
#include "runtime/sim/streams/cuda_order.h"
#include "runtime/sim/streams/pending_copies.h"
#include "runtime/sim/streams/streams.h"

namespace devsan::sim {
namespace {

int find(const void *address, const void **begin, std::size_t *size) {
  const std::optional<BlockPlace> place =
      isDeviceAddress(address) ? placeOf(address) : std::nullopt;
  if (!place || place->freed)
    return 0;
  *begin = place->begin;
  *size = place->size;
  return 1;
}

int getDevice() {
  return currentDevice();
}

void setDevice(int device) {
  setCurrentDevice(static_cast<c10::DeviceIndex>(device));
}

// CUDA's functions throw nothing.
void *allocate(std::size_t bytes) {
  if (bytes > arena_layout.per_device)
    return nullptr;
  markUsed(currentDevice());
  try {
    return takeBlock(bytes, currentDevice());
  } catch (const c10::OutOfMemoryError &) {
    return nullptr;
  }
}

int release(void *address) {
  return devsan_sim_release(address);
}

std::size_t freeMemory(int device) {
  return deviceMemory(static_cast<c10::DeviceIndex>(device)).info().first;
}

int isPinnedMemory(const void *address) {
  return isPinned(address);
}

int deviceOfStream(const void *handle) {
  const std::optional<c10::Stream> stream = streamOfHandle(handle);
  return stream ? stream->device_index() : -1;
}

int priorityOfStream(const void *handle) {
  const std::optional<c10::Stream> stream = streamOfHandle(handle);
  return stream ? streamPriority(*stream) : 0;
}

// Which of them the call would wait for is not asked: what a kernel uses, nobody knows.
void finishAllCopies() {
  if (detail::waiting_copies.load(std::memory_order_relaxed) != 0)
    finishCopies(clockOfAllStreams());
}

} // namespace
} // namespace devsan::sim

extern "C" __attribute__((visibility("default"))) const DevSanSimulator *devsan_sim_for_cuda() {
  using namespace devsan::sim;
  static const DevSanSimulator simulator = [] {
    deviceMemory(0); // makes the arena
    const ArenaLayout &arena = arena_layout;
    return DevSanSimulator{{arena.begin, arena.size, arena.distance, arena.per_device, find},
                           getDevice,
                           setDevice,
                           allocate,
                           release,
                           freeMemory,
                           isPinnedMemory,
                           deviceOfStream,
                           priorityOfStream,
                           finishAllCopies,
                           &kOrderOfCudaStreams};
  }();
  return &simulator;
}
