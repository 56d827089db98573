#include "runtime/sim/devices/devices.h"

#include <dlfcn.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <c10/util/Exception.h>

#include "runtime/sim/api/observers.h"
#include "visible_devices.h"

namespace devsan::sim {
namespace {

constexpr int kNoDevice = 100;      // cudaErrorNoDevice
constexpr int kInvalidDevice = 101; // cudaErrorInvalidDevice

c10::DeviceIndex machine_devices = 0;
thread_local c10::DeviceIndex current_device = 0;
thread_local bool is_requested = false; // the current device was not entered
thread_local c10::StreamId current_streams[kMaxDevices] = {};
std::atomic<DevSanDeviceUseObserver> use_observer{nullptr};

[[noreturn]] void refuse(const char *why, const char *what) {
  std::fprintf(stderr, "devsan: simulated devices: %s%s\n", why, what);
  std::_Exit(2);
}

// Before the static initialisers that register kernels and hooks: nothing of a refused run is
// registered, and no LibTorch code runs that could print something else first.
__attribute__((constructor(101))) void readDeviceCount() {
  void *first = dlsym(RTLD_DEFAULT, "devsan_sim_device_count");
  Dl_info other, own;
  if (first && dladdr(first, &other) && dladdr(reinterpret_cast<void *>(&readDeviceCount), &own) &&
      other.dli_fbase != own.dli_fbase)
    refuse("they are there already, from ", other.dli_fname);
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
    refuse("this DevSan was built with the program's LibTorch, which is a CUDA build; build DevSan "
           "with a CPU build of LibTorch, or run without --sim",
           "");
  }
  machine_devices = static_cast<c10::DeviceIndex>(count);
}

} // namespace

VisibleDevices currentlyVisible() {
  return visibleDevices(std::getenv("CUDA_VISIBLE_DEVICES"), machine_devices);
}

namespace {

const VisibleDevices &visible() {
  static const VisibleDevices devices = currentlyVisible();
  return devices;
}

} // namespace

c10::DeviceIndex deviceCount() {
  return visible().count;
}

c10::DeviceIndex physicalIndex(c10::DeviceIndex index) {
  return visible().physical[static_cast<std::size_t>(index)];
}

c10::DeviceIndex currentDevice() {
  return current_device;
}

void setCurrentDevice(c10::DeviceIndex index) {
  current_device = index;
}

void enterDevice(c10::DeviceIndex index) {
  if (index == current_device && !is_requested)
    return;
  checkDeviceIndex(index);
  is_requested = false;
  current_device = index;
  if (!isUsed(index))
    markContext(index, "cudaSetDevice");
}

void requestDevice(c10::DeviceIndex index) {
  is_requested = !isUsed(index);
  current_device = index;
}

std::atomic<std::uint8_t> noted_uses[kMaxDevices] = {};

namespace {

void noteUse(c10::DeviceIndex index, bool works, const char *function) {
  std::uint8_t count = noted_uses[index].load(std::memory_order_relaxed);
  do {
    if (count == kNotedUses)
      return;
  } while (!noted_uses[index].compare_exchange_weak(count, std::uint8_t(count + 1),
                                                    std::memory_order_relaxed));
  if (DevSanDeviceUseObserver observer = use_observer.load(std::memory_order_acquire))
    observer(index, works, function);
}

} // namespace

bool isUsed(c10::DeviceIndex index) {
  return noted_uses[index].load(std::memory_order_relaxed) != 0;
}

void noteWork(c10::DeviceIndex index) {
  noteUse(index, true, nullptr);
}

void markContext(c10::DeviceIndex index, const char *function) {
  noteUse(index, false, function);
}

void stopRecordingUses() {
  use_observer.store(nullptr, std::memory_order_release);
}

void checkDeviceIndex(c10::DeviceIndex index) {
  if (C10_LIKELY(index >= 0 && index < deviceCount()))
    return;
  const bool has_devices = deviceCount() > 0;
  const std::string what = has_devices
                               ? "CUDA error: invalid device ordinal\nGPU device may be out of "
                                 "range, do you have enough GPUs?\n"
                               : "CUDA error: no CUDA-capable device is detected\n";
  throw c10::AcceleratorError(
      {__func__, __FILE__, __LINE__}, has_devices ? kInvalidDevice : kNoDevice,
      what + "CUDA kernel errors might be asynchronously reported at some other API call, so the "
             "stacktrace below might be "
             "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
             "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n");
}

c10::Device withIndex(c10::Device device) {
  if (!device.has_index())
    device.set_index(current_device);
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

void devsan_sim_set_device_use_observer(DevSanDeviceUseObserver observer) {
  devsan::sim::use_observer.store(observer, std::memory_order_release);
}
