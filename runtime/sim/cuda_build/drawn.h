#pragma once

namespace devsan::sim {

// At the end of a kernel: the device's generators that it drew from stand after what it drew.
void moveDrawnGeneratorsOn();

} // namespace devsan::sim
