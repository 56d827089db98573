#include "runtime/sim/streams/host_wait.h"

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/distributed/nccl_work.h"
#include "runtime/sim/graphs/graph.h"
#include "runtime/sim/streams/blocking.h"
#include "runtime/sim/streams/streams.h"

namespace devsan::sim {

void waitForCurrentStream(c10::DeviceIndex index) {
  if (C10_UNLIKELY(isOrderKept()))
    synchronizeStream(currentStream(index));
}

void waitForDevice(c10::DeviceIndex index) {
  checkDeviceIndex(index);
  refuseToWait();
  markContext(index, "cudaDeviceSynchronize");
  ExplicitWait wait("cudaDeviceSynchronize", index);
  finishCollectives(index);
  synchronizeDevice(index);
}

void waitInBarrier(c10::DeviceIndex index, c10::function_ref<void()> arrive) {
  warnOrErrorOnSync();
  ExplicitWait wait("cudaStreamSynchronize", index);
  arrive();
  waitForCurrentStream(index);
}

} // namespace devsan::sim
