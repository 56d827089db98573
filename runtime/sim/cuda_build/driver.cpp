#include "driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/sim/memory/arena.h"
#include "runtime/sim/memory/protection.h"

namespace devsan::sim {
namespace {

using GetMemory = const DevSanStandinMemory *(*)();

const DevSanStandinMemory &ask() {
  auto get = reinterpret_cast<GetMemory>(dlsym(RTLD_DEFAULT, "devsan_standin_memory"));
  const DevSanStandinMemory *memory = get ? get() : nullptr;
  if (memory != nullptr && memory->size != 0)
    return *memory;
  std::fprintf(stderr, "devsan: simulated devices: %s\n",
               get ? "no address range for their memory; raise the limit on addresses (ulimit -v)"
                   : "the CUDA driver of this process is not DevSan's; start the program by "
                     "`devsan run --sim=N`");
  std::_Exit(2);
}

// Before anything is registered, so that nothing of a refused run is.
__attribute__((constructor(101))) void takeMemory() {
  const DevSanStandinMemory &memory = driverMemory();
  adoptArena(memory.begin, memory.size, memory.distance, memory.per_device);
  if (arenaIsProtected())
    installFaultHandler();
}

} // namespace

const DevSanStandinMemory &driverMemory() {
  static const DevSanStandinMemory &memory = ask();
  return memory;
}

} // namespace devsan::sim

// For the runtime: the calls of CUDA are the program's and PyTorch's own, and are to be observed.
extern "C" __attribute__((visibility("default"))) bool devsan_sim_has_cuda_calls() {
  return true;
}
