// The simulated devices of this process: how many there are, which one is current on this thread,
// which stream is current on each of them. C++ (device guard, CUDA hooks) and Python (extern "C"
// functions) both read and write this one state, so that they agree. Any thread; nothing here
// allocates.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/macros/Macros.h>

#include <atomic>
#include <cstdint>

namespace devsan::sim {

inline constexpr int kMaxDevices = 64;

// Those of DEVSAN_SIM_DEVICES that CUDA_VISIBLE_DEVICES shows, which is read at the first call, as
// the CUDA driver reads it at the first use.
c10::DeviceIndex deviceCount();
// The device's number within the machine.
c10::DeviceIndex physicalIndex(c10::DeviceIndex index);

c10::DeviceIndex currentDevice();
// `index` must be valid.
void setCurrentDevice(c10::DeviceIndex index);
// As cudaSetDevice, which makes a context. Throws on an invalid ordinal.
void enterDevice(c10::DeviceIndex index);
// As a guard goes back: a device without a context gets none before it is entered. `index` must be
// valid.
void requestDevice(c10::DeviceIndex index);
// Throws CUDA's "invalid device ordinal" for an index that no device has.
void checkDeviceIndex(c10::DeviceIndex index);

// Whether the program has used the device: on hardware, whether the process has a context on it.
// The device that a guard goes back to does not count; work, memory, torch.cuda.set_device and the
// device that a guard goes to do.
bool isUsed(c10::DeviceIndex index);

// The first uses of a device are told to the runtime: enough to see which devices a process works
// on and which it merely touched.
inline constexpr std::uint8_t kNotedUses = 64;
extern std::atomic<std::uint8_t> noted_uses[kMaxDevices];
void noteWork(c10::DeviceIndex index);
// Puts memory or work on the device.
inline void markUsed(c10::DeviceIndex index) {
  if (C10_UNLIKELY(noted_uses[index].load(std::memory_order_relaxed) < kNotedUses))
    noteWork(index);
}
// What makes CUDA create a context on the device, and no more; `function` is its name for it.
void markContext(c10::DeviceIndex index, const char *function);
// The program has ended: what is done from now on is the simulator's doing.
void stopRecordingUses();

// A device with an index: the given one, or the current device for "cuda" alone. Throws on an
// invalid ordinal.
c10::Device withIndex(c10::Device device);

c10::Stream currentStream(c10::DeviceIndex index);
// Returns the stream that was current on the stream's device.
c10::Stream exchangeCurrentStream(c10::Stream stream);

// What the device guard does for the time of a kernel. Does not validate.
class CurrentDeviceScope {
public:
  explicit CurrentDeviceScope(c10::DeviceIndex index) : previous_(currentDevice()), index_(index) {
    if (previous_ != index_)
      setCurrentDevice(index_);
    markUsed(index_);
  }
  ~CurrentDeviceScope() {
    if (previous_ != index_)
      requestDevice(previous_);
  }
  CurrentDeviceScope(const CurrentDeviceScope &) = delete;
  CurrentDeviceScope &operator=(const CurrentDeviceScope &) = delete;

private:
  c10::DeviceIndex previous_, index_;
};

} // namespace devsan::sim
