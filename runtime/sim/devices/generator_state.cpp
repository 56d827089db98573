#include "generator_state.h"

namespace devsan::sim {
namespace {

std::uint64_t mixed(std::uint64_t seed, std::uint64_t offset) {
  std::uint64_t bits = seed + offset * 0x9E3779B97F4A7C15ull;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ull;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBull;
  return bits ^ (bits >> 31);
}

// An engine serves one batch of its numbers; where a batch begins in offsets.
constexpr std::uint64_t kOffsetPerBatch = 4096;
static_assert(at::MERSENNE_STATE_N * kOffsetPerNumber <= kOffsetPerBatch);

bool isFresh(const at::mt19937_data_pod &data) {
  return data.left_ == 1 && data.next_ == 0;
}

std::uint64_t numbersTaken(const at::mt19937_data_pod &data) {
  return data.next_;
}

} // namespace

GeneratorState::GeneratorState() {
  begin(0);
}

at::Generator GeneratorState::draw() {
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

std::pair<std::uint64_t, std::uint64_t> GeneratorState::position() {
  std::lock_guard lock(mutex_);
  if (requested_)
    return {seed_, *requested_};
  settle();
  return {seed_, base_ + kOffsetPerNumber * numbersTaken(data())};
}

void GeneratorState::assign(std::uint64_t seed, std::uint64_t offset) {
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

at::CPUGeneratorImpl &GeneratorState::impl() {
  return *static_cast<at::CPUGeneratorImpl *>(host_.unsafeGetGeneratorImpl());
}

at::mt19937_data_pod GeneratorState::data() {
  std::lock_guard engine_lock(host_.mutex());
  return impl().engine().data();
}

// The seed's own engine first: what is drawn from it is what the CPU draws.
void GeneratorState::begin(std::uint64_t base) {
  base_ = base;
  at::mt19937 engine(base == 0 ? seed_ : mixed(seed_, base));
  at::mt19937 ahead = engine;
  ahead();
  first_of_batch_ = ahead.data().state_[0];
  std::lock_guard engine_lock(host_.mutex());
  impl().set_engine(engine);
}

void GeneratorState::settle() {
  at::mt19937_data_pod now = data();
  if (!isFresh(now) && now.state_[0] != first_of_batch_)
    begin(base_ + kOffsetPerBatch);
}

} // namespace devsan::sim
