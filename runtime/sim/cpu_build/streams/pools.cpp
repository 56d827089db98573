// Pools of streams, as c10_cuda has them.
#include <algorithm>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/streams/streams.h"

namespace devsan::sim {
namespace {

constexpr c10::StreamId kStreamsPerPool = 32;
constexpr int kPools = 1 - kGreatestPriority;

constinit std::atomic<std::uint32_t> handed_out[kMaxDevices][kPools] = {};

} // namespace

c10::Stream streamFromPool(c10::DeviceIndex index, int priority) {
  noteSideStream();
  markContext(index, "cudaStreamCreateWithPriority");
  priority = std::clamp(priority, kGreatestPriority, 0);
  std::uint32_t count = handed_out[index][-priority].fetch_add(1, std::memory_order_relaxed);
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kCUDA, index),
                     poolStreamId(priority, count % kStreamsPerPool));
}

const void *handleInPool(c10::Stream) {
  return nullptr;
}

} // namespace devsan::sim
