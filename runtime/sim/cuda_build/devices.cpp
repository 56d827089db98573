// Devices and streams of a CUDA build are c10_cuda's own.
#include "runtime/sim/devices/devices.h"

#include <dlfcn.h>

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "c10_cuda.h"

namespace devsan::sim {
namespace {

const c10::impl::DeviceGuardImplInterface &guard() {
  static const auto *guard = c10::impl::getDeviceGuardImpl(c10::kCUDA);
  return *guard;
}

} // namespace

std::atomic<std::uint8_t> noted_uses[kMaxDevices] = {};

bool isUsed(c10::DeviceIndex index) {
  return noted_uses[index].load(std::memory_order_relaxed) != 0;
}

// The runtime sees the contexts that CUDA makes.
void stopRecordingUses() {}

void noteWork(c10::DeviceIndex index) {
  noted_uses[index].store(kNotedUses, std::memory_order_relaxed);
}

c10::DeviceIndex deviceCount() {
  return guard().deviceCount();
}

// The stand-in's devices have their number within the machine as the last byte of their UUID.
c10::DeviceIndex physicalIndex(c10::DeviceIndex index) {
  using GetUuid = int(unsigned char *, int);
  static auto *get = reinterpret_cast<GetUuid *>(dlsym(RTLD_DEFAULT, "cuDeviceGetUuid"));
  unsigned char uuid[16];
  return get != nullptr && get(uuid, index) == 0 ? static_cast<c10::DeviceIndex>(uuid[15]) : index;
}

// Asked for every operator: without the guard's wrapping.
c10::DeviceIndex currentDevice() {
  static auto *get = inC10Cuda<int(c10::DeviceIndex *)>("_ZN3c104cuda9GetDeviceEPa");
  c10::DeviceIndex index = 0;
  if (C10_LIKELY(get != nullptr && get(&index) == 0))
    return index;
  return guard().getDevice().index();
}

void setCurrentDevice(c10::DeviceIndex index) {
  guard().setDevice(c10::Device(c10::kCUDA, index));
}

void requestDevice(c10::DeviceIndex index) {
  guard().uncheckedSetDevice(c10::Device(c10::kCUDA, index));
}

void checkDeviceIndex(c10::DeviceIndex index) {
  // CUDA's own error.
  if (C10_UNLIKELY(index >= deviceCount()))
    setCurrentDevice(index);
}

c10::Device withIndex(c10::Device device) {
  if (!device.has_index())
    return c10::Device(c10::kCUDA, currentDevice());
  checkDeviceIndex(device.index());
  return device;
}

c10::Stream currentStream(c10::DeviceIndex index) {
  return guard().getStream(c10::Device(c10::kCUDA, index));
}

} // namespace devsan::sim
