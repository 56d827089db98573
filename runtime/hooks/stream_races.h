// Records work on two streams that nothing orders, and memory given out again while another stream
// may use it, as the simulator sees them.
#pragma once

namespace devsan::runtime {

// Registers with the simulator, where there is one. From then on it asks for the calling place at
// every operator, once the process has made a stream of its own.
void observeStreams();

} // namespace devsan::runtime
