#include "runtime/cuda/contexts.h"

#include "runtime/cuda/driver.h"
#include "runtime/record/recorder.h"

#include <atomic>
#include <c10/core/DeviceType.h>
#include <string_view>

namespace devsan::runtime::cuda {
namespace {

constexpr int kMaxDevices = 64;

std::atomic<bool> is_known[kMaxDevices];

void record(int device, const char *function, const char *detail) {
  Recorder &out = recorder();
  Event event;
  event.kind = EventKind::kContext;
  event.from = {static_cast<std::int8_t>(c10::DeviceType::CUDA), static_cast<std::int8_t>(device)};
  event.op = out.string(function);
  event.detail = out.string(detail);
  out.record(event);
}

bool isDevice(int device) {
  return device >= 0 && device < kMaxDevices;
}

// The driver is asked until it says that there is one, once.
void look(int device, const char *function, const char *detail) {
  if (!isDevice(device) || is_known[device].load(std::memory_order_relaxed) ||
      !hasPrimaryContext(device) || is_known[device].exchange(true))
    return;
  record(device, function, detail);
}

bool makesOwnContext(const DevSanCudaCall &call) {
  return call.call_class == kDevSanCudaContext &&
         std::string_view(call.name).starts_with("cuCtxCreate");
}

} // namespace

void noteEarlierContexts() {
  for (int device = 0, count = deviceCount(); device < count; ++device)
    look(device, "", "earlier");
}

void noteContexts(const DevSanCudaCall &call, int device) {
  if (makesOwnContext(call)) {
    if (isDevice(call.to_device))
      record(call.to_device, call.name, "created");
    return;
  }
  look(device, call.name, "primary");
  if (call.call_class == kDevSanCudaDevice || call.call_class == kDevSanCudaContext)
    look(call.to_device, call.name, "primary");
}

void forgetContexts() {
  for (std::atomic<bool> &known : is_known)
    known.store(false, std::memory_order_relaxed);
}

} // namespace devsan::runtime::cuda
