// The generators of a CUDA build are its own: a seed and an offset, which the program reads and
// sets. What is drawn are a CPU generator's numbers that belong to both (generator_state.h), and
// the offset moves on as far as the engine did.
#include "runtime/sim/devices/generators.h"

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/detail/CUDAHooksInterface.h>

#include "graphs.h"
#include "runtime/sim/devices/generator_state.h"

namespace devsan::sim {
namespace {

std::mutex states_mutex;

// By the generator's object, which another may follow at the same address: seed and offset decide.
GeneratorState &stateOf(const c10::GeneratorImpl *generator) {
  static auto *states =
      new std::unordered_map<const c10::GeneratorImpl *, std::unique_ptr<GeneratorState>>;
  std::lock_guard lock(states_mutex);
  std::unique_ptr<GeneratorState> &state = (*states)[generator];
  if (!state)
    state = std::make_unique<GeneratorState>();
  return *state;
}

// What this thread's kernel draws from.
struct Drawn {
  at::Generator generator;
  GeneratorState *state;
};
thread_local std::vector<Drawn> drawn;

} // namespace

void moveDrawnGeneratorsOn() {
  if (C10_LIKELY(drawn.empty()))
    return;
  for (Drawn &one : std::exchange(drawn, {})) {
    std::lock_guard lock(one.generator.mutex());
    one.generator.set_offset(one.state->position().second);
  }
}

const at::Generator &defaultGenerator(c10::DeviceIndex index) {
  return at::detail::getCUDAHooks().getDefaultGenerator(index);
}

at::Generator cpuGenerator(const at::Generator &generator, c10::Device) {
  TORCH_CHECK(generator.device().type() == c10::kCUDA, "Expected a '", c10::kCUDA,
              "' device type for generator but found '", generator.device().type(), "'");
  moveDrawnGeneratorsOn();
  at::Generator own = generator;
  GeneratorState &state = stateOf(own.unsafeGetGeneratorImpl());
  // A capture may not ask, and what it draws is drawn again by each replay.
  if (C10_LIKELY(!isCapturing())) {
    std::lock_guard lock(own.mutex());
    const std::pair position(own.current_seed(), own.get_offset());
    if (state.position() != position)
      state.assign(position.first, position.second);
  }
  at::Generator lent = state.draw();
  if (C10_LIKELY(!isCapturing()))
    drawn.push_back({std::move(own), &state});
  return lent;
}

} // namespace devsan::sim
