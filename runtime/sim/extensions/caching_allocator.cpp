// c10::cuda::CUDACachingAllocator for compiled extensions. Its class is another in each release of
// LibTorch, in functions and in their order, so no class of ours can be derived from it that
// compiles with all. What is exported is an object with a table of functions of its own, in which
// those that extensions call stand where that release's header has them; any other says that it is
// missing.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <dlfcn.h>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StreamGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include "runtime/sim/cpu_build/memory/caching_allocator.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/kernel_allocator.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/streams/streams.h"

namespace devsan::sim {
namespace {

using c10::cuda::CUDACachingAllocator::CUDAAllocator;
using Function = void (*)();

[[noreturn]] void refuse() {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false,
      "not simulated: this function of c10::cuda::CUDACachingAllocator in an extension that "
      "was built for a CPU build of PyTorch; those that allocate, release, record streams and "
      "count are there");
}

// As virtual functions are called: the object comes first.
c10::DataPtr allocate(void *, std::size_t bytes) {
  return deviceAllocator()->allocate(bytes);
}
c10::DeleterFnPtr rawDeleter(const void *) {
  return deviceAllocator()->raw_deleter();
}
void copyData(const void *, void *to, const void *from, std::size_t bytes) {
  deviceAllocator()->copy_data(to, from, bytes);
}
bool isInitialized(void *) {
  return true;
}
void initialize(void *, int) {}
std::string name(void *) {
  return "native";
}

c10::DeviceAllocator &ours() {
  return *static_cast<c10::DeviceAllocator *>(deviceAllocator());
}
void emptyCache(void *, c10::MempoolId_t mempool) {
  ours().emptyCache(mempool);
}
c10::CachingDeviceAllocator::DeviceStats deviceStats(void *, c10::DeviceIndex index) {
  return ours().getDeviceStats(index);
}
void resetAccumulatedStats(void *, c10::DeviceIndex index) {
  ours().resetAccumulatedStats(index);
}
void resetPeakStats(void *, c10::DeviceIndex index) {
  ours().resetPeakStats(index);
}
std::pair<std::size_t, std::size_t> memoryInfo(void *, c10::DeviceIndex index) {
  // Not by a virtual call: for that g++ takes along CUDAAllocator's, which is inline and calls
  // CUDA.
  return deviceMemory(withIndex({c10::kCUDA, index}).index()).info();
}
double memoryFraction(void *, c10::DeviceIndex index) {
  checkDeviceIndex(index);
  return deviceMemory(index).fraction();
}
void setMemoryFraction(void *, double fraction, c10::DeviceIndex index) {
  checkDeviceIndex(index);
  TORCH_CHECK(0 <= fraction && fraction <= 1, "invalid fraction:", fraction,
              ". Please set within [0, 1].");
  deviceMemory(index).setFraction(fraction);
}
void enable(void *, bool value) {
  enableCaching(value);
}
bool isEnabled(const void *) {
  return cachingIsEnabled();
}
bool isHistoryEnabled(void *) {
  return false;
}
// A c10::cuda::CUDAStream is a c10::Stream and nothing more.
void recordStream(void *, const c10::DataPtr &data, c10::Stream stream) {
  sim::recordStream(data, stream);
}
void *rawAllocate(void *, std::size_t bytes) {
  return bytes ? takeBlock(bytes, currentDevice()) : nullptr;
}
void *rawAllocateForStream(void *self, std::size_t bytes, cudaStream_t handle) {
  const c10::Stream stream = streamOfHandle(handle).value_or(c10::Stream(
      c10::Stream::UNSAFE, {c10::kCUDA, currentDevice()}, reinterpret_cast<std::intptr_t>(handle)));
  const c10::StreamGuard guard(stream);
  return rawAllocate(self, bytes);
}
void rawRelease(void *, void *address) {
  releaseBlock(address);
}

constexpr std::size_t kMost = 128;

// By the C++ ABI of this machine's compilers a pointer to a virtual member function holds its place
// in the table, in bytes, and 1.
template <typename Member> std::size_t placeOf(Member member) {
  std::uintptr_t words[2];
  static_assert(sizeof member == sizeof words);
  std::memcpy(words, &member, sizeof words);
  return (words[0] - 1) / sizeof(Function);
}

struct Table {
  std::array<Function, kMost> functions;

  Table() { functions.fill(&refuse); }
  template <typename Member, typename Ours> void put(Member member, Ours *ours) {
    functions.at(placeOf(member)) = reinterpret_cast<Function>(ours);
  }
};

const Table table = [] {
  Table made;
  made.put(&CUDAAllocator::allocate, allocate);
  made.put(&CUDAAllocator::raw_deleter, rawDeleter);
  made.put(&CUDAAllocator::copy_data, copyData);
  made.put(&CUDAAllocator::initialized, isInitialized);
  made.put(static_cast<void (CUDAAllocator::*)(const c10::DataPtr &, c10::Stream)>(
               &CUDAAllocator::recordStream),
           recordStream);
  made.put(static_cast<void (CUDAAllocator::*)(const c10::DataPtr &, c10::cuda::CUDAStream)>(
               &CUDAAllocator::recordStream),
           recordStream);
  made.put(&CUDAAllocator::init, initialize);
  made.put(&CUDAAllocator::name, name);
  made.put(&CUDAAllocator::emptyCache, emptyCache);
  made.put(&CUDAAllocator::getDeviceStats, deviceStats);
  made.put(&CUDAAllocator::resetAccumulatedStats, resetAccumulatedStats);
  made.put(&CUDAAllocator::resetPeakStats, resetPeakStats);
  made.put(&CUDAAllocator::getMemoryInfo, memoryInfo);
  made.put(&CUDAAllocator::getMemoryFraction, memoryFraction);
  made.put(&CUDAAllocator::setMemoryFraction, setMemoryFraction);
  made.put(&CUDAAllocator::enable, enable);
  made.put(&CUDAAllocator::isEnabled, isEnabled);
  made.put(&CUDAAllocator::isHistoryEnabled, isHistoryEnabled);
  made.put(&CUDAAllocator::raw_alloc, rawAllocate);
  made.put(&CUDAAllocator::raw_alloc_with_stream, rawAllocateForStream);
  made.put(&CUDAAllocator::raw_delete, rawRelease);
  return made;
}();

const struct {
  const Function *functions = table.functions.data();
} object;

} // namespace
} // namespace devsan::sim

#define DEVSAN_ALLOCATOR "_ZN3c104cuda20CUDACachingAllocator9allocatorE"

// Under the name of c10::cuda::CUDACachingAllocator::allocator, which the header keeps to itself.
extern "C" __attribute__((visibility("default"))) std::atomic<const void *>
    devsan_caching_allocator __asm__(DEVSAN_ALLOCATOR){&devsan::sim::object};

// A program that is linked with DevSan::cuda_api had this variable before the simulator came, and
// its own is the process's. By dlsym, since the compiler takes the one above for the only one.
[[gnu::constructor]] static void provideCachingAllocator() {
  if (void *variable = dlsym(RTLD_DEFAULT, DEVSAN_ALLOCATOR))
    static_cast<std::atomic<const void *> *>(variable)->store(&devsan::sim::object);
}
