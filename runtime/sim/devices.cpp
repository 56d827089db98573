#include "devices.h"

#include <dlfcn.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <c10/util/Exception.h>

namespace devsan::sim {
namespace {

constexpr int kInvalidDevice = 101; // cudaErrorInvalidDevice

c10::DeviceIndex device_count = 0;
thread_local c10::DeviceIndex current_device = 0;
thread_local c10::StreamId current_streams[kMaxDevices] = {};
std::atomic<bool> used_devices[kMaxDevices] = {};

[[noreturn]] void refuse(const char *why, const char *what) {
  std::fprintf(stderr, "devsan: simulated devices: %s%s\n", why, what);
  std::_Exit(2);
}

// Before the static initialisers that register kernels and hooks: nothing of a refused run is
// registered, and no LibTorch code runs that could print something else first.
__attribute__((constructor(101))) void readDeviceCount() {
  const char *text = std::getenv("DEVSAN_SIM_DEVICES");
  if (text == nullptr)
    refuse("DEVSAN_SIM_DEVICES is not set; use `devsan run --sim=N`, N from 1 to 64", "");
  int count = 0;
  const char *end = text + std::strlen(text);
  auto [rest, error] = std::from_chars(text, end, count);
  if (error != std::errc() || rest != end || count < 1 || count > kMaxDevices)
    refuse("the number of devices must be from 1 to 64, not ", *text ? text : "an empty text");
  if (void *cuda = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY)) {
    dlclose(cuda);
    refuse("this program's LibTorch is built with CUDA; use a CPU build of LibTorch, or run "
           "without --sim",
           "");
  }
  device_count = static_cast<c10::DeviceIndex>(count);
}

} // namespace

c10::DeviceIndex deviceCount() {
  return device_count;
}

c10::DeviceIndex currentDevice() {
  return current_device;
}

void setCurrentDevice(c10::DeviceIndex index) {
  current_device = index;
}

bool isUsed(c10::DeviceIndex index) {
  return used_devices[index].load(std::memory_order_relaxed);
}

void markUsed(c10::DeviceIndex index) {
  if (C10_UNLIKELY(!isUsed(index)))
    used_devices[index].store(true, std::memory_order_relaxed);
}

void checkDeviceIndex(c10::DeviceIndex index) {
  if (C10_UNLIKELY(index < 0 || index >= device_count))
    throw c10::AcceleratorError(
        {__func__, __FILE__, __LINE__}, kInvalidDevice,
        "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough "
        "GPUs?\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the "
        "stacktrace below might be "
        "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n");
}

c10::Device withIndex(c10::Device device) {
  if (!device.has_index())
    return c10::Device(device.type(), current_device);
  checkDeviceIndex(device.index());
  return device;
}

c10::Stream currentStream(c10::DeviceIndex index) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kCUDA, index), current_streams[index]);
}

c10::Stream exchangeCurrentStream(c10::Stream stream) {
  c10::Stream previous = currentStream(stream.device_index());
  current_streams[stream.device_index()] = stream.id();
  return previous;
}

} // namespace devsan::sim
