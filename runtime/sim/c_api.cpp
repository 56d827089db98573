#include "c_api.h"

#include "devices.h"
#include "events.h"
#include "generators.h"
#include "memory.h"
#include "streams.h"

int devsan_sim_device_count() {
  return devsan::sim::deviceCount();
}

void devsan_sim_offer_default_generator(int index) {
  devsan::sim::offerDefaultGenerator(static_cast<c10::DeviceIndex>(index));
}

void devsan_sim_resize_storage(void *storage, std::size_t bytes) {
  auto *impl = static_cast<c10::StorageImpl *>(storage);
  devsan::sim::resizeDeviceStorage(*impl, bytes);
}

double devsan_sim_elapsed_milliseconds(const void *start, const void *end) {
  using devsan::sim::Event;
  return static_cast<const Event *>(start)->millisecondsUntil(*static_cast<const Event *>(end));
}

int devsan_sim_stream_priority(std::int64_t id, int device) {
  return devsan::sim::streamPriority(c10::Stream(
      c10::Stream::UNSAFE, c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)), id));
}
