#include "c_api.h"

#include <ATen/Context.h>
#include <ATen/native/Resize.h>

#include "devices.h"
#include "events.h"
#include "generators.h"

int devsan_sim_device_count() {
  return devsan::sim::deviceCount();
}

void devsan_sim_initialize() {
  at::globalContext().lazyInitDevice(c10::kCUDA);
}

bool devsan_sim_is_used(int index) {
  return devsan::sim::isUsed(static_cast<c10::DeviceIndex>(index));
}

void devsan_sim_mark_used(int index) {
  devsan::sim::markUsed(static_cast<c10::DeviceIndex>(index));
}

void devsan_sim_offer_default_generator(int index) {
  devsan::sim::offerDefaultGenerator(static_cast<c10::DeviceIndex>(index));
}

void devsan_sim_resize_storage(void *storage, std::size_t bytes) {
  auto *impl = static_cast<c10::StorageImpl *>(storage);
  devsan::sim::CurrentDeviceScope current(impl->device().index());
  at::native::resize_bytes_cpu(impl, bytes);
}

double devsan_sim_elapsed_milliseconds(const void *start, const void *end) {
  using devsan::sim::Event;
  return devsan::sim::elapsedMilliseconds(*static_cast<const Event *>(start),
                                          *static_cast<const Event *>(end));
}
