#include "host_wait.h"

#include "runtime/sim/devices/devices.h"
#include "streams.h"

namespace devsan::sim {

void waitForCurrentStream(c10::DeviceIndex index) {
  if (C10_UNLIKELY(isOrderKept()))
    synchronizeStream(currentStream(index));
}

} // namespace devsan::sim
