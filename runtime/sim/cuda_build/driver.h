// What the simulator asks the driver's stand-in (runtime/cuda/standin/driver) for, which is in
// the process before a CUDA build of LibTorch is. Constant once it has been asked.
#pragma once

#include "runtime/cuda/standin/memory.h"

namespace devsan::sim {

// Ends the process where the driver is not the stand-in: its memory would be a GPU's.
const DevSanStandinMemory &driverMemory();

} // namespace devsan::sim
