#include "runtime/sim/api/c_api.h"

#include <ATen/Context.h>

#include "runtime/sim/cpu_build/devices/visible_devices.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/devices/generators.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/events.h"
#include "runtime/sim/streams/pending_copies.h"
#include "runtime/sim/streams/streams.h"

namespace {

c10::Stream streamOf(std::int64_t id, int device) {
  return c10::Stream(c10::Stream::UNSAFE,
                     c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)), id);
}

} // namespace

int devsan_sim_device_count() {
  return devsan::sim::deviceCount();
}

int devsan_sim_peek_device_count() {
  return devsan::sim::currentlyVisible().count;
}

int devsan_sim_physical_index(int index) {
  return devsan::sim::physicalIndex(static_cast<c10::DeviceIndex>(index));
}

void devsan_sim_initialize() {
  at::globalContext().lazyInitDevice(c10::kCUDA);
}

bool devsan_sim_is_used(int index) {
  return devsan::sim::isUsed(static_cast<c10::DeviceIndex>(index));
}

void devsan_sim_mark_context(int index, const char *function) {
  devsan::sim::markContext(static_cast<c10::DeviceIndex>(index), function);
}

bool devsan_sim_is_capturing(std::int64_t stream, int device) {
  return devsan::sim::isCapturing(streamOf(stream, device));
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

void devsan_sim_occupy_stream(std::int64_t id, int device) {
  const c10::Stream stream = streamOf(id, device);
  if (!devsan::sim::isInCapture(stream))
    devsan::sim::occupy(stream);
}

int devsan_sim_stream_priority(std::int64_t id, int device) {
  return devsan::sim::streamPriority(streamOf(id, device));
}

void devsan_sim_adopt_host_storage(void *device, void *host) {
  auto *storage = static_cast<c10::StorageImpl *>(device);
  auto kept =
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(static_cast<c10::StorageImpl *>(host));
  devsan::sim::materialize(*storage);
  void *data = kept->_mutable_data_ptr_no_checks().get();
  std::size_t bytes = kept->nbytes();
  c10::DataPtr shared(
      data, kept.release(),
      [](void *owner) {
        c10::intrusive_ptr<c10::StorageImpl>::reclaim(static_cast<c10::StorageImpl *>(owner));
      },
      storage->device());
  storage->set_data_ptr_noswap(std::move(shared));
  storage->set_nbytes(bytes);
}
