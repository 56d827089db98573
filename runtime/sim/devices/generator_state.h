// What a generator of a simulated device is made of: a seed and an offset, as CUDA's. The numbers
// are a CPU engine's, which has no offsets. So an engine is only used until it has to make a second
// batch of its numbers; the next draw then has a new engine, seeded with seed and offset. An offset
// is reached again by making its engine and skipping some numbers of one batch. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>

namespace devsan::sim {

class GeneratorState {
public:
  GeneratorState();

  // A CPU generator that stands at the position; what is drawn from it moves the position on.
  at::Generator draw();
  // Seed and offset, a multiple of 4.
  std::pair<std::uint64_t, std::uint64_t> position();
  void assign(std::uint64_t seed, std::uint64_t offset);

private:
  at::CPUGeneratorImpl &impl();
  at::mt19937_data_pod data();
  void begin(std::uint64_t base);
  void settle();

  std::mutex mutex_;
  std::uint64_t seed_ = c10::default_rng_seed_val;
  std::uint64_t base_ = 0;                 // the offset of the engine's first number
  std::uint32_t first_of_batch_ = 0;       // tells the engine's first batch from later ones
  std::optional<std::uint64_t> requested_; // the offset that was assigned, until something is drawn
  at::Generator host_ = at::detail::createCPUGenerator();
};

inline constexpr std::uint64_t kOffsetPerNumber = 4;

} // namespace devsan::sim
