// Memory's part of the simulator's C functions, for devsan/sim/memory.py.
#include "runtime/sim/api/c_api.h"

#include <cstring>
#include <string>

#include "caching_allocator.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/memory.h"

using namespace devsan::sim;

void *devsan_sim_allocate(std::size_t bytes, std::int64_t stream, const char **message) {
  thread_local std::string what;
  try {
    c10::Stream now(c10::Stream::UNSAFE, c10::Device(c10::kCUDA, currentDevice()), stream);
    c10::Stream before = exchangeCurrentStream(now);
    c10::DataPtr data;
    try {
      data = deviceAllocator()->allocate(bytes);
    } catch (...) {
      exchangeCurrentStream(before);
      throw;
    }
    exchangeCurrentStream(before);
    return data.release_context();
  } catch (const c10::Error &error) {
    what = error.what_without_backtrace();
    *message = what.c_str();
    return nullptr;
  }
}

bool devsan_sim_release(void *address) {
  if (!isDeviceAddress(address) || !isAllocatedBlock(address))
    return false;
  deviceAllocator()->raw_deallocate(address);
  return true;
}

void devsan_sim_enable_caching(bool enabled) {
  enableCaching(enabled);
}

bool devsan_sim_caching_is_enabled() {
  return cachingIsEnabled();
}

void devsan_sim_set_memory_fraction(int device, double fraction) {
  deviceMemory(static_cast<c10::DeviceIndex>(device)).setFraction(fraction);
}

double devsan_sim_memory_fraction(int device) {
  return deviceMemory(static_cast<c10::DeviceIndex>(device)).fraction();
}

char *devsan_sim_memory_snapshot() {
  std::string json = "[";
  auto number = [&json](const char *name, std::uint64_t value) {
    json += std::string("\"") + name + "\":" + std::to_string(value) + ",";
  };
  for (c10::DeviceIndex device = 0; device < deviceCount(); ++device) {
    for (const auto &segment : deviceMemory(device).snapshot()) {
      json += json.size() > 1 ? ",{" : "{";
      number("device", static_cast<std::uint64_t>(device));
      number("address", segment.address);
      number("total_size", segment.total_size);
      number("allocated_size", segment.allocated_size);
      number("active_size", segment.active_size);
      number("requested_size", segment.requested_size);
      number("segment_pool_id", segment.owner_private_pool_id.second);
      number("stream", reinterpret_cast<std::uint64_t>(segment.stream));
      json += std::string("\"segment_type\":\"") + (segment.is_large ? "large" : "small") +
              "\",\"blocks\":[";
      std::uint64_t address = segment.address;
      for (const auto &block : segment.blocks) {
        json += address == segment.address ? "{" : ",{";
        number("address", address);
        number("size", block.size);
        number("requested_size", block.requested_size);
        json += std::string("\"state\":\"") +
                (block.allocated ? "active_allocated"
                 : block.active  ? "active_pending_free"
                                 : "inactive") +
                "\"}";
        address += block.size;
      }
      json += "]}";
    }
  }
  return strdup((json + "]").c_str());
}
