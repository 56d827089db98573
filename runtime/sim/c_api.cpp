#include "c_api.h"

#include <ATen/Context.h>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include "devices.h"
#include "distributed/nccl_backend.h"
#include "events.h"
#include "generators.h"
#include "memory.h"
#include "streams.h"

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

const char *devsan_sim_make_nccl_backend(const char *group_name, long long timeout_milliseconds,
                                         int global_rank) {
  static thread_local std::string failure;
  try {
    auto group = c10d::resolve_process_group(group_name);
    auto backend = c10::make_intrusive<devsan::sim::NcclBackend>(
        group->getBackend(c10::kCPU), group->getStore(), group->getRank(), group->getSize(),
        std::chrono::milliseconds(timeout_milliseconds), global_rank);
    group->setBackend(c10::kCUDA, c10d::ProcessGroup::NCCL, backend);
    return nullptr;
  } catch (const std::exception &error) {
    failure = error.what();
    return failure.c_str();
  }
}
