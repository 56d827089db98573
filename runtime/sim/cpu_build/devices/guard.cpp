// The device guard of the simulated devices: what at::DeviceGuard, c10::Stream and c10::Event call.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/graphs/graph.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/streams/blocking.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/events.h"
#include "runtime/sim/streams/host_wait.h"
#include "runtime/sim/streams/streams.h"

namespace devsan::sim {
namespace {

class GuardImpl final : public c10::impl::DeviceGuardImplInterface {
public:
  c10::DeviceType type() const override { return c10::kCUDA; }

  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device previous = getDevice();
    enterDevice(device.index());
    return previous;
  }
  c10::Device getDevice() const override { return {c10::kCUDA, currentDevice()}; }
  void setDevice(c10::Device device) const override {
    checkDeviceIndex(device.index());
    setCurrentDevice(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < sim::deviceCount())
      requestDevice(device.index());
  }
  c10::DeviceIndex deviceCount() const noexcept override { return sim::deviceCount(); }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override { return {}; }

  c10::Stream getStream(c10::Device device) const override {
    return currentStream(withIndex(device).index());
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, withIndex(device));
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority) const override {
    return streamFromPool(withIndex(device).index(), high_priority ? kGreatestPriority : 0);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return streamFromPool(withIndex(device).index(), priority);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    if (C10_UNLIKELY(stream.id() != 0))
      noteSideStream(); // one made from a handle may be the first
    return exchangeCurrentStream(stream);
  }
  void *getStreamNativeHandle(const c10::Stream stream) const override {
    return streamHandle(stream);
  }
  bool isStreamCapturing(const c10::Stream &stream) const override { return isCapturing(stream); }
  bool queryStream(const c10::Stream &stream) const override { return sim::queryStream(stream); }
  void synchronizeStream(const c10::Stream &stream) const override {
    refuseToWait(stream);
    warnOrErrorOnSync();
    ExplicitWait wait("cudaStreamSynchronize", stream.device_index());
    sim::synchronizeStream(stream);
  }

  void record(void **event, const c10::Stream &stream, const c10::DeviceIndex index,
              const c10::EventFlag) const override {
    TORCH_CHECK(index == -1 || index == stream.device_index(), "Event device index ",
                static_cast<int>(index), " does not match recording stream's device index ",
                static_cast<int>(stream.device_index()), ".");
    if (*event == nullptr)
      *event = new Event;
    static_cast<Event *>(*event)->record(stream);
  }
  void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Event *>(event);
  }
  void block(void *event, const c10::Stream &stream) const override {
    if (event)
      static_cast<Event *>(event)->block(stream);
  }
  bool queryEvent(void *event) const override {
    return !event || static_cast<Event *>(event)->query();
  }
  void synchronizeEvent(void *event) const override {
    if (event == nullptr)
      return;
    if (static_cast<Event *>(event)->isCaptured())
      refuseToWait();
    ExplicitWait wait("cudaEventSynchronize", static_cast<Event *>(event)->device());
    static_cast<Event *>(event)->synchronize();
  }
  void synchronizeDevice(const c10::DeviceIndex index) const override { waitForDevice(index); }
  void recordDataPtrOnStream(const c10::DataPtr &data, const c10::Stream &stream) const override {
    recordStream(data, stream);
  }
  double elapsedTime(void *start, void *end, const c10::DeviceIndex index) const override {
    TORCH_CHECK(start && end, "Both events must be recorded before calculating elapsed time.");
    checkDeviceIndex(index);
    const auto &from = *static_cast<Event *>(start), &to = *static_cast<Event *>(end);
    TORCH_CHECK(from.device() == to.device(), "CUDA error: invalid resource handle");
    return from.millisecondsUntil(to);
  }
};

C10_REGISTER_GUARD_IMPL(CUDA, GuardImpl)

} // namespace
} // namespace devsan::sim
