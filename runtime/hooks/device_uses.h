// Records the first uses of each simulated device by this process, from which
// `device-extra-context` tells the devices that it works on from those that it merely touched.
#pragma once

namespace devsan::runtime {

// Once, at start.
void observeDeviceUses();

} // namespace devsan::runtime
