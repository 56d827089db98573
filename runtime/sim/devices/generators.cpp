#include "generators.h"

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <ATen/EmptyTensor.h>
#include <ATen/Utils.h>

#include "devices.h"

namespace devsan::sim {
namespace {

std::uint64_t mixed(std::uint64_t seed, std::uint64_t offset) {
  std::uint64_t bits = seed + offset * 0x9E3779B97F4A7C15ull;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ull;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBull;
  return bits ^ (bits >> 31);
}

constexpr std::uint64_t kOffsetPerNumber = 4;
// An engine serves one batch of its numbers; where a batch begins in offsets.
constexpr std::uint64_t kOffsetPerBatch = 4096;
static_assert(at::MERSENNE_STATE_N * kOffsetPerNumber <= kOffsetPerBatch);

// What a CUDA generator is made of: a seed and an offset, which count for the numbers alone.
// Generators that are graph-safe copies of one another share it.
//
// The numbers are a CPU engine's, which has no offsets. So an engine is only used until it has to
// make a second batch of its numbers; the next draw then has a new engine, seeded with seed and
// offset. An offset is reached again by making its engine and skipping some numbers of one batch.
class State {
public:
  State() { begin(0); }

  at::Generator draw() {
    std::lock_guard lock(mutex_);
    settle();
    requested_.reset();
    std::lock_guard engine_lock(host_.mutex());
    // Half of a pair that an earlier draw of normal numbers left is in no offset.
    auto &generator = impl();
    generator.set_next_float_normal_sample(std::nullopt);
    generator.set_next_double_normal_sample(std::nullopt);
    return host_;
  }
  std::pair<std::uint64_t, std::uint64_t> position() {
    std::lock_guard lock(mutex_);
    if (requested_)
      return {seed_, *requested_};
    settle();
    return {seed_, base_ + kOffsetPerNumber * numbersTaken(data())};
  }
  void assign(std::uint64_t seed, std::uint64_t offset) {
    std::lock_guard lock(mutex_);
    seed_ = seed;
    requested_ = offset;
    std::uint64_t skipped = offset % kOffsetPerBatch / kOffsetPerNumber;
    // A GPU's offset may lie where no engine of ours has a number.
    bool between = skipped > at::MERSENNE_STATE_N;
    begin(offset - offset % kOffsetPerBatch + (between ? kOffsetPerBatch : 0));
    std::lock_guard engine_lock(host_.mutex());
    for (std::uint64_t i = 0; !between && i < skipped; ++i)
      impl().random();
  }

private:
  at::CPUGeneratorImpl &impl() {
    return *static_cast<at::CPUGeneratorImpl *>(host_.unsafeGetGeneratorImpl());
  }
  at::mt19937_data_pod data() {
    std::lock_guard engine_lock(host_.mutex());
    return impl().engine().data();
  }
  static bool isFresh(const at::mt19937_data_pod &data) {
    return data.left_ == 1 && data.next_ == 0;
  }
  static std::uint64_t numbersTaken(const at::mt19937_data_pod &data) { return data.next_; }

  // The seed's own engine first: what is drawn from it is what the CPU draws.
  void begin(std::uint64_t base) {
    base_ = base;
    at::mt19937 engine(base == 0 ? seed_ : mixed(seed_, base));
    at::mt19937 ahead = engine;
    ahead();
    first_of_batch_ = ahead.data().state_[0];
    std::lock_guard engine_lock(host_.mutex());
    impl().set_engine(engine);
  }
  void settle() {
    at::mt19937_data_pod now = data();
    if (!isFresh(now) && now.state_[0] != first_of_batch_)
      begin(base_ + kOffsetPerBatch);
  }

  std::mutex mutex_;
  std::uint64_t seed_ = c10::default_rng_seed_val;
  std::uint64_t base_ = 0;                 // the offset of the engine's first number
  std::uint32_t first_of_batch_ = 0;       // tells the engine's first batch from later ones
  std::optional<std::uint64_t> requested_; // the offset that was assigned, until something is drawn
  at::Generator host_ = at::detail::createCPUGenerator();
};

class GeneratorImpl final : public c10::GeneratorImpl {
public:
  GeneratorImpl(c10::DeviceIndex index, std::shared_ptr<State> state)
      : c10::GeneratorImpl(c10::Device(c10::kCUDA, index),
                           c10::DispatchKeySet(c10::DispatchKey::CUDA)),
        state_(std::move(state)) {}

  at::Generator nextDraw() { return state_->draw(); }

  void set_current_seed(std::uint64_t seed) override { state_->assign(seed, 0); }
  std::uint64_t current_seed() const override { return state_->position().first; }
  std::uint64_t seed() override {
    std::uint64_t seed = c10::detail::getNonDeterministicRandom(true);
    state_->assign(seed, 0);
    return seed;
  }
  void set_offset(std::uint64_t offset) override {
    checkOffset(offset);
    state_->assign(current_seed(), offset);
  }
  std::uint64_t get_offset() const override { return state_->position().second; }

  // The bytes of a CUDA generator's state, so that a checkpoint made on a GPU can be loaded.
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    auto [seed, offset] = state_->position();
    at::Tensor bytes = at::detail::empty_cpu({sizeof seed + sizeof offset}, at::kByte);
    std::memcpy(bytes.mutable_data_ptr(), &seed, sizeof seed);
    std::memcpy(bytes.mutable_data_ptr<std::uint8_t>() + sizeof seed, &offset, sizeof offset);
    return bytes.getIntrusivePtr();
  }
  void set_state(const c10::TensorImpl &state) override {
    at::detail::check_rng_state(state);
    std::uint64_t seed = 0, offset = 0;
    const auto bytes = static_cast<std::size_t>(state.numel());
    TORCH_CHECK(bytes == sizeof seed + sizeof offset || bytes == sizeof seed,
                "RNG state is wrong size");
    const auto *data = static_cast<const std::uint8_t *>(state.data());
    std::memcpy(&seed, data, sizeof seed);
    if (bytes > sizeof seed)
      std::memcpy(&offset, data + sizeof seed, sizeof offset);
    checkOffset(offset);
    state_->assign(seed, offset);
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
  static void checkOffset(std::uint64_t offset) {
    TORCH_CHECK(offset % kOffsetPerNumber == 0, "offset must be a multiple of 4");
  }
  GeneratorImpl *clone_impl() const override {
    auto copy = std::make_shared<State>();
    auto [seed, offset] = state_->position();
    copy->assign(seed, offset);
    return new GeneratorImpl(device_.index(), std::move(copy));
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
