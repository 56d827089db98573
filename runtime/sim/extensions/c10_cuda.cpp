// What compiled extensions find in libc10_cuda.so and libtorch_cuda.so, which a CPU build of
// LibTorch lacks: the functions of streams, devices, errors and properties that its headers
// declare, on the simulated devices. The headers themselves are not included: they need CUDA's, and
// differ from release to release, while the functions' names are the interface. What is missing
// here, the loader names when it opens the extension. Any thread.
#include <mutex>
#include <optional>
#include <ostream>
#include <string>

#include <dlfcn.h>

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/devices/generators.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/streams/blocking.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/host_wait.h"
#include "runtime/sim/streams/pending_copies.h"
#include "runtime/sim/streams/streams.h"

#define DEVSAN_EXPORT __attribute__((visibility("default")))

struct CUstream_st;
struct cudaDeviceProp;
struct cublasContext;

namespace {

using namespace devsan;

enum { kSuccess = 0, kInvalidDevice = 101 }; // of cudaError_t

// Of CUDA's runtime, which has come with the extension.
template <typename Function> Function *cudart(const char *name) {
  auto *function = reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
  TORCH_CHECK(function, "not simulated: ", name);
  return function;
}

c10::impl::VirtualGuardImpl guard() {
  return c10::impl::VirtualGuardImpl(c10::kCUDA);
}

c10::Device deviceOf(c10::DeviceIndex index) {
  return {c10::kCUDA, index < 0 ? sim::currentDevice() : index};
}

bool isDevice(c10::DeviceIndex index) {
  return index >= 0 && index < sim::deviceCount();
}

} // namespace

namespace c10::cuda {

class DEVSAN_EXPORT CUDAStream {
public:
  explicit CUDAStream(Stream stream) : stream_(stream) {}
  bool query() const;
  void synchronize() const;
  CUstream_st *stream() const;
  Stream unwrap() const { return stream_; }

private:
  Stream stream_;
};

bool CUDAStream::query() const {
  return stream_.query();
}
void CUDAStream::synchronize() const {
  stream_.synchronize();
}
CUstream_st *CUDAStream::stream() const {
  return static_cast<CUstream_st *>(sim::streamHandle(stream_));
}

DEVSAN_EXPORT CUDAStream getStreamFromPool(const int priority, DeviceIndex index) {
  return CUDAStream(guard().getNewStream(deviceOf(index), priority));
}
DEVSAN_EXPORT CUDAStream getStreamFromPool(const bool high_priority, DeviceIndex index) {
  return CUDAStream(guard().getStreamFromGlobalPool(deviceOf(index), high_priority));
}
DEVSAN_EXPORT CUDAStream getStreamFromExternal(CUstream_st *handle, DeviceIndex index) {
  return CUDAStream(Stream(Stream::UNSAFE, deviceOf(index),
                           static_cast<StreamId>(reinterpret_cast<std::intptr_t>(handle))));
}
DEVSAN_EXPORT CUDAStream getDefaultCUDAStream(DeviceIndex index) {
  return CUDAStream(guard().getDefaultStream(deviceOf(index)));
}
DEVSAN_EXPORT CUDAStream getCurrentCUDAStream(DeviceIndex index) {
  return CUDAStream(guard().getStream(deviceOf(index)));
}
DEVSAN_EXPORT void setCurrentCUDAStream(CUDAStream stream) {
  guard().exchangeStream(stream.unwrap());
}
DEVSAN_EXPORT std::ostream &operator<<(std::ostream &out, const CUDAStream &stream) {
  return out << stream.unwrap();
}

DEVSAN_EXPORT DeviceIndex device_count() noexcept {
  return sim::deviceCount();
}
DEVSAN_EXPORT DeviceIndex device_count_ensure_non_zero() {
  TORCH_CHECK(sim::deviceCount() > 0, "No CUDA GPUs are available");
  return sim::deviceCount();
}
DEVSAN_EXPORT DeviceIndex current_device() {
  return sim::currentDevice();
}
DEVSAN_EXPORT void set_device(DeviceIndex index, const bool) {
  sim::enterDevice(index);
}
DEVSAN_EXPORT void set_device(DeviceIndex index) {
  sim::enterDevice(index);
}
DEVSAN_EXPORT void device_synchronize() {
  guard().synchronizeDevice(sim::currentDevice());
}
DEVSAN_EXPORT void warn_or_error_on_sync() {
  sim::warnOrErrorOnSync();
}

DEVSAN_EXPORT int GetDeviceCount(int *count) {
  *count = sim::deviceCount();
  return kSuccess;
}
DEVSAN_EXPORT int GetDevice(DeviceIndex *index) {
  *index = sim::currentDevice();
  return kSuccess;
}
DEVSAN_EXPORT int MaybeSetDevice(DeviceIndex index) {
  if (!isDevice(index))
    return kInvalidDevice;
  sim::requestDevice(index);
  return kSuccess;
}
DEVSAN_EXPORT int SetDevice(DeviceIndex index, const bool) {
  TORCH_CHECK(index >= 0, "device id must be non-negative!", static_cast<int>(index));
  if (!isDevice(index))
    return kInvalidDevice;
  sim::enterDevice(index);
  return kSuccess;
}
DEVSAN_EXPORT int SetDevice(DeviceIndex index) {
  return SetDevice(index, false);
}
DEVSAN_EXPORT DeviceIndex ExchangeDevice(DeviceIndex index) {
  return guard().exchangeDevice({kCUDA, index}).index();
}
DEVSAN_EXPORT DeviceIndex MaybeExchangeDevice(DeviceIndex index) {
  const DeviceIndex previous = sim::currentDevice();
  sim::checkDeviceIndex(index);
  if (index != previous)
    sim::requestDevice(index);
  return previous;
}
DEVSAN_EXPORT void SetTargetDevice() {
  sim::enterDevice(sim::currentDevice());
}
DEVSAN_EXPORT bool hasPrimaryContext(DeviceIndex index) {
  sim::checkDeviceIndex(index);
  return sim::isUsed(index);
}
DEVSAN_EXPORT std::optional<DeviceIndex> getDeviceIndexWithPrimaryContext() {
  for (DeviceIndex index = 0; index < sim::deviceCount(); ++index)
    if (sim::isUsed(index))
      return index;
  return std::nullopt;
}

// The line's type is another by release.
DEVSAN_EXPORT void c10_cuda_check_implementation(const std::int32_t error, const char *file,
                                                 const char *function, const std::uint32_t line,
                                                 const bool) {
  if (error == kSuccess)
    return;
  static_cast<void>(cudart<int()>("cudaGetLastError")());
  throw c10::Error({function, file, line},
                   std::string("CUDA error: ") +
                       cudart<const char *(int)>("cudaGetErrorString")(error));
}
DEVSAN_EXPORT void c10_cuda_check_implementation(const std::int32_t error, const char *file,
                                                 const char *function, const int line,
                                                 const bool device_assertions) {
  c10_cuda_check_implementation(error, file, function, static_cast<std::uint32_t>(line),
                                device_assertions);
}
DEVSAN_EXPORT const char *get_cuda_check_suffix() noexcept {
  return "";
}

} // namespace c10::cuda

namespace at::cuda {

DEVSAN_EXPORT cudaDeviceProp *getDeviceProperties(c10::DeviceIndex index) {
  constexpr std::size_t kSize = 1032; // CUDA 12's
  alignas(8) static char properties[sim::kMaxDevices][kSize];
  static std::once_flag read[sim::kMaxDevices];
  index = sim::withIndex(deviceOf(index)).index();
  std::call_once(read[index], [index] {
    cudart<int(void *, int)>("cudaGetDeviceProperties_v2")(properties[index], index);
  });
  return reinterpret_cast<cudaDeviceProp *>(properties[index]);
}
DEVSAN_EXPORT cudaDeviceProp *getCurrentDeviceProperties() {
  return getDeviceProperties(sim::currentDevice());
}
DEVSAN_EXPORT int warp_size() {
  return 32;
}
DEVSAN_EXPORT bool canDeviceAccessPeer(c10::DeviceIndex index, c10::DeviceIndex peer) {
  sim::checkDeviceIndex(index);
  sim::checkDeviceIndex(peer);
  return false;
}
DEVSAN_EXPORT c10::Allocator *getCUDADeviceAllocator() {
  return sim::deviceAllocator();
}
// What torch.cuda._sleep() is.
DEVSAN_EXPORT void sleep(std::int64_t) {
  const c10::Stream stream = sim::currentStream(sim::currentDevice());
  if (!sim::isInCapture(stream))
    sim::occupy(stream);
}
DEVSAN_EXPORT cublasContext *getCurrentCUDABlasHandle(bool) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "not simulated: cuBLAS in an extension that was built for a "
                                     "CPU build of PyTorch");
}

} // namespace at::cuda

namespace at::cuda::detail {

DEVSAN_EXPORT const at::Generator &getDefaultCUDAGenerator(c10::DeviceIndex index) {
  return sim::defaultGenerator(index);
}
DEVSAN_EXPORT at::Generator createCUDAGenerator(c10::DeviceIndex index) {
  return sim::makeGenerator(index);
}

} // namespace at::cuda::detail
