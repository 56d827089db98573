// Records host code that touches device memory. Only the simulated devices' memory can tell.
#pragma once

namespace devsan::runtime {

// From now on. Does nothing where there are no simulated devices.
void observeHostAccesses();

} // namespace devsan::runtime
