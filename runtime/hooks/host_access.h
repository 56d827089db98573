// Records host code that touches device memory, and the result of a copy before it waited for it.
// Only the simulated devices can tell.
#pragma once

namespace devsan::runtime {

// From now on. Does nothing where there are no simulated devices.
void observeHostAccesses();

} // namespace devsan::runtime
