// Streams and copies of a CUDA build are its own: nothing here arrives late, and which stream uses
// which memory is not followed (areAccessesNoted() never holds). What an operator's CUDA code waits
// for, it waits for by c10_cuda, which tells torch.cuda.set_sync_debug_mode and the runtime.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/memory/host_watch.h"
#include "runtime/sim/streams/blocking.h"
#include "runtime/sim/streams/host_wait.h"
#include "runtime/sim/streams/pending_copies.h"
#include "runtime/sim/streams/stream_accesses.h"

namespace devsan::sim {

// c10_cuda tells of its wait itself.
void announceWait(const runtime::Effect &) {}
void waitForCurrentStream(c10::DeviceIndex index) {
  c10::impl::getDeviceGuardImpl(c10::kCUDA)->synchronizeStream(currentStream(index));
}

void TouchedMemory::addArguments(const c10::OperatorHandle &, const OperatorFacts &,
                                 const c10::IValue *) {}
void TouchedMemory::addResults(std::span<const c10::IValue>) {}
void noteAccesses(const char *, const TouchedMemory &, c10::Stream) {}
bool startsWork(const c10::OperatorHandle &, const OperatorFacts &) {
  return false;
}

namespace detail {
void finishCopiesToStorage(c10::StorageImpl *) {}
} // namespace detail

// No pinned memory is closed.
bool mayBeClosed(const void *) {
  return false;
}
void handleEarlyAccess(void *, void *, int) {}

} // namespace devsan::sim
