#include "cuda_order.h"

#include "events.h"
#include "runtime/sim/devices/devices.h"
#include "stream_accesses.h"
#include "streams.h"

namespace devsan::sim {
namespace {

c10::Stream streamOf(int device, const void *handle) {
  return c10::Stream(c10::Stream::UNSAFE,
                     c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)),
                     static_cast<c10::StreamId>(reinterpret_cast<std::intptr_t>(handle)));
}

// Of LibTorch's pools, if it is the current one.
c10::Stream namedStreamOf(int device, const void *handle) {
  const c10::Stream current = currentStream(static_cast<c10::DeviceIndex>(device));
  return streamHandle(current) == handle ? current : streamOf(device, handle);
}

AccessKind kindOf(int access) {
  switch (access) {
  case kDevSanReads:
    return AccessKind::kReads;
  case kDevSanWrites:
    return AccessKind::kWrites;
  default:
    return AccessKind::kMayWrite;
  }
}

void use(int device, const void *stream, const char *op, const DevSanMemoryUse *uses,
         std::size_t count) {
  markUsed(static_cast<c10::DeviceIndex>(device));
  if (!areAccessesNoted())
    return;
  TouchedMemory touched;
  for (std::size_t i = 0; i < count; ++i)
    touched.add(uses[i].address, kindOf(uses[i].access));
  noteAccesses(op, touched, namedStreamOf(device, stream));
}

void order(int device, const void *later, const void *earlier) {
  orderAfter(streamOf(device, later), streamOf(device, earlier));
}

void finishStream(int device, const void *stream) {
  synchronizeStream(streamOf(device, stream));
}

void finishDevice(int device) {
  synchronizeDevice(static_cast<c10::DeviceIndex>(device));
}

void record(void **seen, int device, const void *stream) {
  markUsed(static_cast<c10::DeviceIndex>(device));
  if (*seen == nullptr)
    *seen = new Event;
  static_cast<Event *>(*seen)->record(streamOf(device, stream));
}

void wait(int device, const void *stream, const void *seen) {
  if (seen != nullptr)
    static_cast<const Event *>(seen)->block(streamOf(device, stream));
}

void finish(const void *seen) {
  if (seen != nullptr)
    static_cast<const Event *>(seen)->synchronize();
}

void forget(void *seen) {
  delete static_cast<Event *>(seen);
}

} // namespace

constinit const DevSanStreamOrder kOrderOfCudaStreams = {
    noteSideStream, use, order, finishStream, finishDevice, record, wait, finish, forget};

} // namespace devsan::sim
