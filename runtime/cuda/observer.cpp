#include "runtime/cuda/observer.h"

#include "runtime/cuda/calls.h"
#include "runtime/cuda/contexts.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/launches.h"
#include "runtime/cuda/spins.h"
#include "runtime/protocol/libraries.h"
#include "runtime/protocol/staged_upload.h"
#include "runtime/record/recorder.h"
#include "runtime/record/simulator.h"
#include "runtime/stacks/native_stack.h"

#include <algorithm>
#include <atomic>
#include <c10/core/DeviceType.h>
#include <dlfcn.h>
#include <link.h>
#include <string_view>
#include <utility>

namespace devsan::runtime {
namespace cuda {
namespace {

std::atomic<bool> has_seen_calls{false};

enum { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice };

// LibTorch's allocators call CUDA while they hold their locks.
constexpr auto kCaller = Recorder::Caller::kMayHoldLocks;

DeviceId cudaDevice(int index) {
  return {static_cast<std::int8_t>(c10::DeviceType::CUDA), static_cast<std::int8_t>(index)};
}

// Where one side of a copy lies. An address that the driver does not know is on the host, unless
// the call says otherwise.
Memory sideOf(const void *address, int named_device, bool is_said_to_be_on_device, int current) {
  if (named_device >= 0)
    return {MemoryKind::kDevice, named_device};
  if (address == DEVSAN_CUDA_ON_DEVICE)
    return {MemoryKind::kDevice, current};
  Memory memory = memoryAt(address);
  if (memory.kind == MemoryKind::kPageable && is_said_to_be_on_device)
    return {MemoryKind::kDevice, current};
  return memory;
}

struct Copy {
  Memory from;
  Memory to;

  bool touchesHost() const {
    return from.kind != MemoryKind::kDevice || to.kind != MemoryKind::kDevice;
  }
  bool touchesDevice() const {
    return from.kind == MemoryKind::kDevice || to.kind == MemoryKind::kDevice;
  }
  // Whether the host waits for it although it is asynchronous.
  bool waitsForPageable(std::uint64_t bytes) const {
    const bool is_upload = from.kind == MemoryKind::kPageable && to.kind == MemoryKind::kDevice;
    return (from.kind == MemoryKind::kPageable || to.kind == MemoryKind::kPageable) &&
           !(is_upload && bytes <= kDevSanStagedUpload);
  }
};

Copy copyOf(const DevSanCudaCall &call, int current) {
  return {sideOf(call.from, call.from_device,
                 call.kind == kDeviceToHost || call.kind == kDeviceToDevice, current),
          sideOf(call.to, call.to_device,
                 call.kind == kHostToDevice || call.kind == kDeviceToDevice, current)};
}

DeviceId deviceOf(const Memory &memory) {
  return memory.kind == MemoryKind::kDevice ? cudaDevice(memory.device) : DeviceId{};
}

void addToOperator(CudaActivity &activity, std::uint64_t blocked_ns) {
  activity.blocks = true;
  activity.blocked_ns += blocked_ns;
}

std::string_view libraryOf(const void *code) {
  Dl_info found;
  return dladdr(code, &found) && found.dli_fname ? found.dli_fname : "";
}

// exit() takes down what LibTorch and CUDA's libraries keep, which waits once more.
bool isExiting() {
  if (CudaActivity::current()) // an operator of the program's
    return false;
  static const auto [begin, size] = [] {
    const void *function = dlsym(RTLD_DEFAULT, "exit");
    Dl_info found;
    const ElfW(Sym) *symbol = nullptr;
    dladdr1(function, &found, const_cast<void **>(reinterpret_cast<const void **>(&symbol)),
            RTLD_DL_SYMENT);
    return std::pair(reinterpret_cast<std::uintptr_t>(function),
                     symbol ? std::uintptr_t(symbol->st_size) : 0);
  }();
  NativeStack stack;
  captureNative(stack);
  return std::any_of(stack.pcs, stack.pcs + stack.count,
                     [](std::uintptr_t pc) { return pc - begin - 1 < size; });
}

// What nobody who uses CUDA's libraries can do without: when they are first used they allocate
// pinned memory and send tables to the device, and at the end they free it and unload code.
bool isHousekeeping(const DevSanCudaCall &call) {
  switch (call.call_class) {
  case kDevSanCudaRelease:
  case kDevSanCudaAllocateHost:
    return isCudaLibrary(libraryOf(call.caller)) || isExiting();
  case kDevSanCudaCopy:
  case kDevSanCudaCopyAsync:
    // Inside of operators copies are many, and to look a library up takes the loader's lock.
    return !CudaActivity::current() &&
           ((call.kind == kHostToDevice && isCudaLibrary(libraryOf(call.caller))) || isExiting());
  case kDevSanCudaWait:
    return isExiting();
  default:
    return false;
  }
}

// Of a wait that has ended.
struct Span {
  std::uint64_t end_ns = 0;
  std::uint64_t duration = 0;
};

void recordWait(const char *function, int device, Span time, StackId stack = 0) {
  if (CudaActivity *activity = CudaActivity::current())
    return addToOperator(*activity, time.duration);
  Recorder &out = recorder();
  Event event;
  event.kind = EventKind::kBlock;
  event.flags = kBlocks;
  event.from = cudaDevice(device);
  event.time_ns = time.end_ns;
  event.blocked_ns = event.call_ns = time.duration;
  event.op = out.string(function);
  event.stack = stack;
  out.record(event, kCaller);
}

void recordCopy(const DevSanCudaCall &call, int device, Span time) {
  const Copy copy = copyOf(call, device);
  const bool is_async = call.call_class == kDevSanCudaCopyAsync;
  const bool blocks = is_async ? copy.waitsForPageable(call.bytes) : copy.touchesHost();
  if (CudaActivity *activity = CudaActivity::current()) {
    if (blocks)
      addToOperator(*activity, time.duration);
    return;
  }
  const DeviceId from = deviceOf(copy.from), to = deviceOf(copy.to);
  // LibTorch's copies of tensors are operators; what else it copies are numbers and tables of its
  // own.
  const std::string_view library = libraryOf(call.caller);
  if (!copy.touchesDevice() || from == to || isTorchLibrary(library) || isCudaLibrary(library)) {
    if (blocks)
      recordWait(call.name, device, time);
    return;
  }
  Recorder &out = recorder();
  Event event;
  event.kind = EventKind::kCopy;
  event.flags = (blocks ? kBlocks : 0) | (is_async ? kNonBlocking : 0);
  if (copy.touchesHost() && copy.from.kind != MemoryKind::kPageable &&
      copy.to.kind != MemoryKind::kPageable)
    event.flags |= kPinned;
  event.from = from;
  event.to = to;
  event.bytes = call.bytes;
  event.time_ns = time.end_ns;
  event.call_ns = time.duration;
  event.blocked_ns = blocks ? time.duration : 0;
  event.op = out.string(call.name);
  event.current_device = static_cast<std::int8_t>(device);
  out.record(event, kCaller);
}

void recordAllocation(const DevSanCudaCall &call, int device) {
  Recorder &out = recorder();
  Event event;
  event.kind = EventKind::kAllocation;
  event.from = cudaDevice(device);
  event.bytes = call.bytes;
  event.op = out.string(call.name);
  out.record(event);
}

void recordSpin(const Spin &spin) {
  if (spin.function)
    recordWait(spin.function, spin.device, {spin.end_ns, spin.blocked_ns}, spin.stack);
}

void recordCall(const DevSanCudaCall &call, std::uint64_t end_ns) {
  const int device = currentDevice();
  const Span time{end_ns, end_ns - call.begin_ns};
  if (call.call_class == kDevSanCudaQuery)
    return recordSpin(noteQuery(call, end_ns, device));
  recordSpin(endSpin());
  noteContexts(call, device);
  if (call.result != 0 || isHousekeeping(call))
    return;
  switch (call.call_class) {
  case kDevSanCudaCopy:
  case kDevSanCudaCopyAsync:
    if (call.bytes)
      recordCopy(call, device, time);
    return;
  case kDevSanCudaSet:
    // Memory of a device is set while the host goes on.
    if (call.bytes && memoryAt(call.to).kind != MemoryKind::kDevice && !call.stream)
      recordWait(call.name, device, time);
    return;
  case kDevSanCudaRelease:
    if (call.object)
      recordWait(call.name, device, time);
    return;
  case kDevSanCudaWait:
  case kDevSanCudaAllocateHost:
    recordWait(call.name, device, time);
    return;
  case kDevSanCudaAllocate:
    recordAllocation(call, device);
    return;
  case kDevSanCudaLaunch:
    noteLaunch(call, device);
    return;
  case kDevSanCudaQuery:
  case kDevSanCudaDevice:
  case kDevSanCudaContext:
  case kDevSanCudaPlain:
    return;
  }
}

void enter(DevSanCudaCall *call) {
  call->begin_ns = monotonicTime();
}

void leave(DevSanCudaCall *call) {
  // Most calls of most programs; nothing more is done for them than has to be.
  const bool is_launch = call->call_class == kDevSanCudaLaunch;
  if (is_launch && !isSpinning() && isKnownLaunch(*call))
    return;
  if (InsideRuntime::active())
    return;
  const std::uint64_t end_ns = is_launch ? 0 : monotonicTime();
  if (!has_seen_calls.load(std::memory_order_relaxed))
    has_seen_calls.store(true, std::memory_order_relaxed);
  InsideRuntime inside;
  try {
    recordCall(*call, end_ns);
  } catch (...) {
    // Out of memory: the program's call succeeded and must return.
  }
}

constexpr DevSanCudaObserver kObserver = {enter, leave};

void setObserver(const DevSanCudaObserver *observer) {
  if (auto observe =
          reinterpret_cast<DevSanObserveCuda>(dlsym(RTLD_DEFAULT, "devsan_preload_observe_cuda")))
    observe(observer);
}

} // namespace
} // namespace cuda

CudaActivity *&CudaActivity::current() {
  static thread_local CudaActivity *activity = nullptr;
  return activity;
}

void observeCuda() {
  cuda::noteEarlierContexts();
  cuda::setObserver(&cuda::kObserver);
}

void stopObservingCuda() {
  cuda::setObserver(nullptr);
}

void forgetCuda() {
  cuda::endSpin();
  cuda::forgetContexts();
}

bool cudaIsObserved() {
  static const bool operators_call = !simulatesCpuBuild();
  return operators_call && cuda::has_seen_calls.load(std::memory_order_relaxed);
}

} // namespace devsan::runtime
