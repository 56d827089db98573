// Random number generators of the simulated devices: one default generator per device, each with
// its own state, and the bridge to the CPU kernels that draw. As CUDA's, a generator is a seed and
// an offset that every draw advances; the numbers of a draw are those of a CPU generator that is
// seeded with both. So threads share no engine, and a state is 16 bytes that can be set at any
// time. The numbers differ from a GPU's, their reproducibility and independence do not.
#pragma once

#include <cstdint>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

namespace devsan::sim {

const at::Generator &defaultGenerator(c10::DeviceIndex index);
at::Generator makeGenerator(c10::DeviceIndex index);
// Differs between generators that share no state.
std::uint64_t stateOf(const c10::GeneratorImpl &generator);

// Python can wrap only generators that it asked for as new ones: the next newGenerator() of this
// thread gives device `index`'s default generator instead.
void offerDefaultGenerator(c10::DeviceIndex index);
at::Generator newGenerator(c10::DeviceIndex index);

// A CPU generator for one draw of `generator` in a kernel on `device`, which advances it. Throws
// ATen's error if it is not a generator of that kind of device.
at::Generator cpuGenerator(const at::Generator &generator, c10::Device device);

// At the end of a kernel: what it drew moves its generators on.
void moveDrawnGeneratorsOn();

// For kernels that draw from the default CPU generator without asking (nested dropout;
// ops/dropout.cpp asks): lends them a draw of the device's. Holds a process-wide lock, so that no
// other device kernel sees the default CPU generator in between.
class DefaultGeneratorScope {
public:
  explicit DefaultGeneratorScope(c10::DeviceIndex index);
  ~DefaultGeneratorScope();
  DefaultGeneratorScope(const DefaultGeneratorScope &) = delete;
  DefaultGeneratorScope &operator=(const DefaultGeneratorScope &) = delete;

private:
  // Lends what `lent_` draws to the default CPU generator, or takes it back.
  void exchange();

  at::Generator lent_;
  std::unique_lock<std::recursive_mutex> lock_;
};

} // namespace devsan::sim
