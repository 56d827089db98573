// Records what ATen refused: operands on different devices, each odd one with where it was made or
// last moved.
#pragma once

namespace devsan::runtime {

// Registers with the simulator, where there is one.
void observeMismatches();

} // namespace devsan::runtime
