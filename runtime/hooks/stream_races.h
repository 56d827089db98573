// Records work on two streams that nothing orders, memory given out again while another stream may
// use it, and results of copies that the host touched too early, as the simulator sees them.
#pragma once

namespace devsan::runtime {

// Registers with the simulator, where there is one. From then on it asks for the calling place at
// every operator, once the process has made a stream of its own.
void observeStreams();

} // namespace devsan::runtime
