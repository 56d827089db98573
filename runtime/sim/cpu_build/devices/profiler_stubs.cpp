// What the autograd profiler asks of CUDA: times between operators, and NVTX ranges. A simulated
// device has no clock of its own; an event is the host's time when it was recorded, as in events.h.
#include <chrono>
#include <memory>

#include <torch/csrc/profiler/stubs/base.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/streams/host_wait.h"

namespace devsan::sim {
namespace {

using torch::profiler::impl::ProfilerStubs;
using torch::profiler::impl::ProfilerVoidEventStub;

std::int64_t nanoseconds(std::chrono::nanoseconds time) {
  return time.count();
}

class CudaProfilerStubs final : public ProfilerStubs {
public:
  void record(c10::DeviceIndex *device, ProfilerVoidEventStub *event,
              std::int64_t *cpu_ns) const override {
    if (device)
      *device = currentDevice();
    if (event)
      *event = std::make_shared<std::int64_t>(
          nanoseconds(std::chrono::steady_clock::now().time_since_epoch()));
    if (cpu_ns)
      *cpu_ns = nanoseconds(std::chrono::system_clock::now().time_since_epoch());
  }
  // Microseconds.
  float elapsed(const ProfilerVoidEventStub *start,
                const ProfilerVoidEventStub *end) const override {
    auto at = [](const ProfilerVoidEventStub &event) {
      return *static_cast<const std::int64_t *>(event.get());
    };
    return static_cast<float>(at(*end) - at(*start)) / 1e3f;
  }
  // No tool listens to NVTX.
  void mark(const char *) const override {}
  void rangePush(const char *) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> op) const override {
    for (c10::DeviceIndex index = 0; index < deviceCount(); ++index) {
      CurrentDeviceScope current(index);
      op(index);
    }
  }
  void synchronize() const override { waitForCurrentStream(currentDevice()); }
};

const bool registered = [] {
  torch::profiler::impl::registerCUDAMethods(new CudaProfilerStubs);
  return true;
}();

} // namespace
} // namespace devsan::sim
