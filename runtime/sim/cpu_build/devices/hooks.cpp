// What LibTorch asks about CUDA without linking to it: availability, number of devices, generators,
// pinned memory.
#include <ATen/detail/CUDAHooksInterface.h>

#include "runtime/sim/cpu_build/memory/host_registrations.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/devices/generators.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/streams/host_wait.h"

namespace devsan::sim {
namespace {

constexpr long kCudnnVersion = 91501; // also in devsan/sim/libraries.py
constexpr long kCudaVersion = 12080;  // also in devsan/sim/devices.py

class CUDAHooks final : public at::CUDAHooksInterface {
public:
  explicit CUDAHooks(at::CUDAHooksArgs) {}

  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return sim::deviceCount() > 0; }
  bool hasCUDA() const override { return isAvailable(); }
  bool hasPrimaryContext(c10::DeviceIndex index) const override {
    checkDeviceIndex(index);
    return isUsed(index);
  }

  c10::DeviceIndex deviceCount() const override { return sim::deviceCount(); }
  int getNumGPUs() const override { return sim::deviceCount(); }
  c10::DeviceIndex current_device() const override { return currentDevice(); }
  c10::DeviceIndex getCurrentDevice() const override { return currentDevice(); }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    checkDeviceIndex(index);
    sim::setCurrentDevice(index);
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    c10::DeviceIndex previous = currentDevice();
    enterDevice(index);
    return previous;
  }
  // A negative index asks to leave the device as it is.
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    c10::DeviceIndex previous = currentDevice();
    if (index >= 0) {
      checkDeviceIndex(index);
      requestDevice(index);
    }
    return previous;
  }

  const at::Generator &getDefaultGenerator(c10::DeviceIndex index) const override {
    return defaultGenerator(index);
  }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    return newGenerator(index);
  }

  c10::Allocator *getCUDADeviceAllocator() const override { return deviceAllocator(); }
  c10::Allocator *getPinnedMemoryAllocator() const override { return pinnedAllocator(); }
  bool isPinnedPtr(const void *data) const override {
    return isPinned(data) || isRegisteredHostMemory(data);
  }
  c10::Device getDeviceFromPtr(void *data) const override {
    if (isDeviceAddress(data))
      return {c10::kCUDA, deviceOfAddress(data)};
    TORCH_CHECK(isPinnedPtr(data), "The specified pointer resides on host memory and is not "
                                   "registered with any CUDA device.");
    return {c10::kCUDA, currentDevice()};
  }

  void deviceSynchronize(c10::DeviceIndex index) const override {
    waitForDevice(withIndex({c10::kCUDA, index}).index());
  }
  bool hasCUDART() const override { return true; }
  long versionCUDART() const override { return kCudaVersion; }
  // A GPU without cuDNN is not what programs meet: their layers take its operators
  // (ops/cudnn_*.cpp).
  bool compiledWithCuDNN() const override { return true; }
  bool hasCuDNN() const override { return true; }
  bool hasCuSOLVER() const override { return true; }
  bool hasCuBLASLt() const override { return true; }
  bool supportsDilatedConvolutionWithCuDNN() const override { return true; }
  bool supportsDepthwiseConvolutionWithCuDNN() const override { return true; }
  bool supportsBFloat16ConvolutionWithCuDNNv8() const override { return true; }
  bool supportsBFloat16RNNWithCuDNN() const override { return true; }
  long versionCuDNN() const override { return kCudnnVersion; }
  long versionRuntimeCuDNN() const override { return kCudnnVersion; }
  double batchnormMinEpsilonCuDNN() const override { return 0.0; }
  std::string showConfig() const override { return "  - simulated CUDA devices\n"; }
  // The cuFFT plan cache of a simulated device holds nothing.
  int64_t cuFFTGetPlanCacheMaxSize(c10::DeviceIndex index) const override {
    checkDeviceIndex(index);
    return 0;
  }
  void cuFFTSetPlanCacheMaxSize(c10::DeviceIndex index, int64_t) const override {
    checkDeviceIndex(index);
  }
  int64_t cuFFTGetPlanCacheSize(c10::DeviceIndex index) const override {
    checkDeviceIndex(index);
    return 0;
  }
  void cuFFTClearPlanCache(c10::DeviceIndex index) const override { checkDeviceIndex(index); }
};

} // namespace
} // namespace devsan::sim

namespace at {
using devsan::sim::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks)
} // namespace at
