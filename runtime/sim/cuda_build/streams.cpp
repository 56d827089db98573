// Streams and copies of a CUDA build are its own, and nothing here arrives late. Which stream uses
// which memory is followed as with a CPU build, in the order that the driver's stand-in tells. What
// an operator's CUDA code waits for, it waits for by c10_cuda, which tells
// torch.cuda.set_sync_debug_mode and the runtime.
#include <utility>

#include <dlfcn.h>

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "blocks.h"
#include "c10_cuda.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/distributed/nccl_work.h"
#include "runtime/sim/graphs/graph.h"
#include "runtime/sim/memory/host_watch.h"
#include "runtime/sim/streams/blocking.h"
#include "runtime/sim/streams/cuda_order.h"
#include "runtime/sim/streams/host_wait.h"
#include "runtime/sim/streams/pending_copies.h"
#include "runtime/sim/streams/streams.h"

namespace devsan::sim {
namespace {

thread_local bool is_library_waiting = false;

void addStream() {
  kOrderOfCudaStreams.add_stream();
  followBlocks();
}

void finishDevice(int device) {
  finishCollectives(static_cast<c10::DeviceIndex>(device));
  kOrderOfCudaStreams.finish_device(device);
}

const bool is_followed = [] {
  static DevSanStreamOrder order = kOrderOfCudaStreams;
  order.add_stream = addStream;
  order.finish_device = finishDevice;
  auto *follow = reinterpret_cast<decltype(&devsan_standin_follow_streams)>(
      dlsym(RTLD_DEFAULT, "devsan_standin_follow_streams"));
  if (follow != nullptr)
    follow(&order);
  return true;
}();

} // namespace

// c10::cuda::CUDAStream is a c10::Stream and nothing more.
const void *handleInPool(c10::Stream stream) {
  static auto *handle =
      inC10Cuda<const void *(const c10::Stream *)>("_ZNK3c104cuda10CUDAStream6streamEv");
  return handle ? handle(&stream) : nullptr;
}

// c10_cuda tells torch.cuda.set_sync_debug_mode of its waits, and knows nothing of those inside of
// NVIDIA's libraries.
void announceWait(const runtime::Effect &effect) {
  refuseToWait(effect);
  is_library_waiting = effect.blocks && !effect.seen_by_sync_debug;
}
void waitForCurrentStream(c10::DeviceIndex index) {
  static auto *wait =
      reinterpret_cast<int (*)(const void *)>(dlsym(RTLD_DEFAULT, "cudaStreamSynchronize"));
  const c10::Stream stream = currentStream(index);
  if (std::exchange(is_library_waiting, false) && wait != nullptr) {
    const c10::DeviceGuard guard(stream.device());
    wait(stream.id() == 0 ? nullptr : handleInPool(stream));
  } else {
    c10::impl::getDeviceGuardImpl(c10::kCUDA)->synchronizeStream(stream);
  }
}

void waitInBarrier(c10::DeviceIndex index, c10::function_ref<void()> arrive) {
  arrive();
  waitForCurrentStream(index);
}

void finishCopies(const VectorClock &) {}
void finishCopiesAround(const void *, std::size_t) {}
bool haveCopiesArrived(const VectorClock &) {
  return true;
}
bool askForCopies(const VectorClock &) {
  return true;
}

namespace detail {
void finishCopiesToAddress(const void *) {}
} // namespace detail

// No pinned memory is closed.
bool mayBeClosed(const void *) {
  return false;
}
void handleEarlyAccess(void *, void *, int) {}

} // namespace devsan::sim
