#include "generators.h"

#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include <ATen/EmptyTensor.h>
#include <ATen/Utils.h>

#include "devices.h"

namespace devsan::sim {
namespace {

// What a CUDA generator is made of. Generators that are graph-safe copies of one another share it.
struct State {
  std::mutex mutex;
  std::uint64_t seed = c10::default_rng_seed_val;
  std::uint64_t offset = 0; // counts draws, in CUDA's unit
};

constexpr std::uint64_t kOffsetPerDraw = 4;

class GeneratorImpl final : public c10::GeneratorImpl {
public:
  GeneratorImpl(c10::DeviceIndex index, std::shared_ptr<State> state)
      : c10::GeneratorImpl(c10::Device(c10::kCUDA, index),
                           c10::DispatchKeySet(c10::DispatchKey::CUDA)),
        state_(std::move(state)) {}

  at::Generator nextDraw() {
    std::lock_guard lock(state_->mutex);
    std::uint64_t seed = seedOfDraw(state_->seed, state_->offset);
    state_->offset += kOffsetPerDraw;
    return at::detail::createCPUGenerator(seed);
  }

  void set_current_seed(std::uint64_t seed) override { assign(seed, 0); }
  std::uint64_t current_seed() const override { return read().seed; }
  std::uint64_t seed() override {
    std::uint64_t seed = c10::detail::getNonDeterministicRandom(true);
    assign(seed, 0);
    return seed;
  }
  void set_offset(std::uint64_t offset) override {
    TORCH_CHECK(offset % kOffsetPerDraw == 0, "offset must be a multiple of 4");
    assign(read().seed, offset);
  }
  std::uint64_t get_offset() const override { return read().offset; }

  // The bytes of a CUDA generator's state, so that a checkpoint made on a GPU can be loaded.
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    Position position = read();
    at::Tensor bytes = at::detail::empty_cpu({sizeof position}, at::kByte);
    std::memcpy(bytes.mutable_data_ptr(), &position, sizeof position);
    return bytes.getIntrusivePtr();
  }
  void set_state(const c10::TensorImpl &state) override {
    at::detail::check_rng_state(state);
    const auto bytes = static_cast<std::size_t>(state.numel());
    Position position{0, 0};
    TORCH_CHECK(bytes == sizeof position || bytes == sizeof position.seed,
                "RNG state is wrong size");
    std::memcpy(&position, state.data(), bytes);
    TORCH_CHECK(position.offset % kOffsetPerDraw == 0, "offset must be a multiple of 4");
    assign(position.seed, position.offset);
  }

  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    return c10::make_intrusive<GeneratorImpl>(device_.index(), state_);
  }
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl> &other) override {
    auto *generator = dynamic_cast<GeneratorImpl *>(other.get());
    TORCH_CHECK(generator != nullptr,
                "Provided generator is not a CUDA generator: no graph-safe state to set");
    state_ = generator->state_;
  }

private:
  struct Position {
    std::uint64_t seed;
    std::uint64_t offset;
  };

  // The first draw after seeding is the CPU generator's own for that seed.
  static std::uint64_t seedOfDraw(std::uint64_t seed, std::uint64_t offset) {
    if (offset == 0)
      return seed;
    std::uint64_t mixed = seed + offset * 0x9E3779B97F4A7C15ull;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
    return mixed ^ (mixed >> 31);
  }
  Position read() const {
    std::lock_guard lock(state_->mutex);
    return {state_->seed, state_->offset};
  }
  void assign(std::uint64_t seed, std::uint64_t offset) {
    std::lock_guard lock(state_->mutex);
    state_->seed = seed;
    state_->offset = offset;
  }
  GeneratorImpl *clone_impl() const override {
    auto state = std::make_shared<State>();
    Position position = read();
    state->seed = position.seed;
    state->offset = position.offset;
    return new GeneratorImpl(device_.index(), std::move(state));
  }

  std::shared_ptr<State> state_;
};

std::recursive_mutex default_generator_mutex;
thread_local c10::DeviceIndex offered_default = -1;

} // namespace

at::Generator makeGenerator(c10::DeviceIndex index) {
  if (index < 0)
    index = currentDevice();
  checkDeviceIndex(index);
  return at::Generator(c10::make_intrusive<GeneratorImpl>(index, std::make_shared<State>()));
}

const at::Generator &defaultGenerator(c10::DeviceIndex index) {
  static const auto *generators = [] {
    auto *all = new std::array<at::Generator, kMaxDevices>;
    for (c10::DeviceIndex i = 0; i < deviceCount(); ++i) {
      (*all)[i] = makeGenerator(i);
      (*all)[i].seed();
    }
    return all;
  }();
  if (index < 0)
    index = currentDevice();
  checkDeviceIndex(index);
  return (*generators)[index];
}

void offerDefaultGenerator(c10::DeviceIndex index) {
  offered_default = index;
}

at::Generator newGenerator(c10::DeviceIndex index) {
  c10::DeviceIndex offered = std::exchange(offered_default, -1);
  return offered >= 0 ? defaultGenerator(offered) : makeGenerator(index);
}

at::Generator cpuGenerator(const at::Generator &generator, c10::Device device) {
  TORCH_CHECK(generator.device().type() == c10::kCUDA, "Expected a '", c10::kCUDA,
              "' device type for generator but found '", generator.device().type(), "'");
  return static_cast<GeneratorImpl *>(generator.unsafeGetGeneratorImpl())->nextDraw();
}

DefaultGeneratorScope::DefaultGeneratorScope(c10::DeviceIndex index)
    : lent_(cpuGenerator(defaultGenerator(index), c10::Device(c10::kCUDA, index))),
      host_(*static_cast<at::CPUGeneratorImpl *>(
          at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl())),
      lock_(default_generator_mutex) {
  exchange();
}

DefaultGeneratorScope::~DefaultGeneratorScope() {
  exchange();
}

void DefaultGeneratorScope::exchange() {
  auto &lent = *static_cast<at::CPUGeneratorImpl *>(lent_.unsafeGetGeneratorImpl());
  std::lock_guard lock(host_.mutex_);
  auto engine = host_.engine();
  auto next_float = host_.next_float_normal_sample();
  auto next_double = host_.next_double_normal_sample();
  host_.set_engine(lent.engine());
  host_.set_next_float_normal_sample(lent.next_float_normal_sample());
  host_.set_next_double_normal_sample(lent.next_double_normal_sample());
  lent.set_engine(engine);
  lent.set_next_float_normal_sample(next_float);
  lent.set_next_double_normal_sample(next_double);
}

} // namespace devsan::sim
