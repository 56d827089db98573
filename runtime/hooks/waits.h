// Waits that are no operators: torch.cuda.synchronize(), Stream.synchronize() and their kin.
#pragma once

namespace devsan::runtime {

// From now on, those of the simulated devices are recorded. Does nothing where there are none.
void observeWaits();

} // namespace devsan::runtime
