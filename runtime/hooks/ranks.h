// Which rank this process is, for programs that do not have it from their environment (RANK): those
// of torch.multiprocessing.spawn pass it as an argument. The collectives of c10d tell it.
#pragma once

namespace devsan::runtime {

// Wraps the collectives that a process group starts with. Nothing where the environment names the
// rank, so that launched programs pay nothing.
void observeRanks();

} // namespace devsan::runtime
