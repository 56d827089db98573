#include "runtime/sim/devices/generators.h"

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <ATen/EmptyTensor.h>
#include <ATen/Utils.h>
#include <ATen/cuda/detail/PhiloxCudaStateRaw.cuh>

#include "runtime/sim/devices/devices.h"
#include "runtime/sim/devices/generator_state.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/streams.h"

#define DEVSAN_EXPORT __attribute__((visibility("default")))

namespace at {

using devsan::sim::GeneratorState;

// What LibTorch's headers for CUDA declare, with a state of our own: programs ask for it by this
// name and call these functions.
class DEVSAN_EXPORT CUDAGeneratorImpl final : public c10::GeneratorImpl {
public:
  CUDAGeneratorImpl(c10::DeviceIndex index, std::shared_ptr<GeneratorState> state)
      : c10::GeneratorImpl(c10::Device(c10::kCUDA, index),
                           c10::DispatchKeySet(c10::DispatchKey::CUDA)),
        state_(std::move(state)) {}

  const GeneratorState *sharedState() const { return state_.get(); }
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
    return c10::make_intrusive<CUDAGeneratorImpl>(device_.index(), state_);
  }
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl> &other) override {
    auto *generator = dynamic_cast<CUDAGeneratorImpl *>(other.get());
    TORCH_CHECK(generator != nullptr,
                "Provided generator is not a CUDA generator: no graph-safe state to set");
    state_ = generator->state_;
  }

  // For the host code of kernels that draw numbers of their own.
  static c10::DeviceType device_type();
  void set_philox_offset_per_thread(std::uint64_t offset);
  std::uint64_t philox_offset_per_thread() const;
  PhiloxCudaState philox_cuda_state(std::uint64_t increment);
  std::pair<std::uint64_t, std::uint64_t> philox_engine_inputs(std::uint64_t increment);

private:
  static void checkOffset(std::uint64_t offset) {
    TORCH_CHECK(offset % devsan::sim::kOffsetPerNumber == 0, "offset must be a multiple of 4");
  }
  CUDAGeneratorImpl *clone_impl() const override {
    auto copy = std::make_shared<GeneratorState>();
    auto [seed, offset] = state_->position();
    copy->assign(seed, offset);
    return new CUDAGeneratorImpl(device_.index(), std::move(copy));
  }

  std::shared_ptr<GeneratorState> state_;
};

c10::DeviceType CUDAGeneratorImpl::device_type() {
  return c10::kCUDA;
}

void CUDAGeneratorImpl::set_philox_offset_per_thread(std::uint64_t offset) {
  set_offset(offset);
}

std::uint64_t CUDAGeneratorImpl::philox_offset_per_thread() const {
  return get_offset();
}

std::pair<std::uint64_t, std::uint64_t>
CUDAGeneratorImpl::philox_engine_inputs(std::uint64_t increment) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !devsan::sim::isInCapture(devsan::sim::currentStream(device_.index())),
      "not simulated: a program's own kernel that draws random numbers in a CUDA graph");
  constexpr std::uint64_t kUnit = devsan::sim::kOffsetPerNumber;
  const auto position = state_->position();
  state_->assign(position.first, position.second + (increment + kUnit - 1) / kUnit * kUnit);
  return position;
}

PhiloxCudaState CUDAGeneratorImpl::philox_cuda_state(std::uint64_t increment) {
  const auto [seed, offset] = philox_engine_inputs(increment);
  return PhiloxCudaState(seed, offset);
}

} // namespace at

namespace devsan::sim {
namespace {

using at::CUDAGeneratorImpl;

thread_local c10::DeviceIndex offered_default = -1;

} // namespace

at::Generator makeGenerator(c10::DeviceIndex index) {
  if (index < 0)
    index = currentDevice();
  checkDeviceIndex(index);
  return at::Generator(
      c10::make_intrusive<CUDAGeneratorImpl>(index, std::make_shared<GeneratorState>()));
}

std::uint64_t stateOf(const c10::GeneratorImpl &generator) {
  return reinterpret_cast<std::uint64_t>(
      static_cast<const CUDAGeneratorImpl &>(generator).sharedState());
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

at::Generator cpuGenerator(const at::Generator &generator, c10::Device) {
  TORCH_CHECK(generator.device().type() == c10::kCUDA, "Expected a '", c10::kCUDA,
              "' device type for generator but found '", generator.device().type(), "'");
  return static_cast<CUDAGeneratorImpl *>(generator.unsafeGetGeneratorImpl())->nextDraw();
}

// These generators are drawn from themselves.
void moveDrawnGeneratorsOn() {}

} // namespace devsan::sim
