#include "generators.h"

#include <array>
#include <utility>

#include <ATen/Utils.h>

#include "devices.h"

namespace devsan::sim {
namespace {

class GeneratorImpl final : public c10::GeneratorImpl {
public:
  GeneratorImpl(c10::DeviceIndex index, at::Generator cpu)
      : c10::GeneratorImpl(c10::Device(c10::kCUDA, index),
                           c10::DispatchKeySet(c10::DispatchKey::CUDA)),
        cpu_(std::move(cpu)) {}

  const at::Generator &cpu() const { return cpu_; }

  void set_current_seed(std::uint64_t seed) override {
    cpu_.set_current_seed(seed);
    offset_ = 0;
  }
  // CPU generators count no offset; what a program sets it reads back, as far as programs use it.
  void set_offset(std::uint64_t offset) override { offset_ = offset; }
  std::uint64_t get_offset() const override { return offset_; }
  std::uint64_t current_seed() const override { return cpu_.current_seed(); }
  std::uint64_t seed() override {
    offset_ = 0;
    return cpu_.seed();
  }
  // The same numbers for two generator objects, as CUDA graphs share them.
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    return c10::make_intrusive<GeneratorImpl>(device_.index(), cpu_);
  }
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl> &other) override {
    TORCH_CHECK_TYPE(other->device().is_cuda(), "expected a CUDA generator, but got one on ",
                     other->device());
    cpu_ = static_cast<const GeneratorImpl &>(*other).cpu_;
  }
  void set_state(const c10::TensorImpl &state) override { impl().set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return impl().get_state(); }

private:
  c10::GeneratorImpl &impl() const { return *cpu_.unsafeGetGeneratorImpl(); }
  GeneratorImpl *clone_impl() const override {
    auto copy = new GeneratorImpl(device_.index(), cpu_.clone());
    copy->offset_ = offset_;
    return copy;
  }

  at::Generator cpu_;
  std::uint64_t offset_ = 0;
};

std::recursive_mutex default_generator_mutex;
thread_local c10::DeviceIndex offered_default = -1;

} // namespace

at::Generator makeGenerator(c10::DeviceIndex index) {
  if (index < 0)
    index = currentDevice();
  checkDeviceIndex(index);
  return at::Generator(c10::make_intrusive<GeneratorImpl>(index, at::detail::createCPUGenerator()));
}

const at::Generator &defaultGenerator(c10::DeviceIndex index) {
  static const auto *generators = [] {
    auto *all = new std::array<at::Generator, kMaxDevices>;
    for (c10::DeviceIndex i = 0; i < deviceCount(); ++i)
      (*all)[i] = makeGenerator(i);
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
  return static_cast<GeneratorImpl *>(generator.unsafeGetGeneratorImpl())->cpu();
}

DefaultGeneratorScope::DefaultGeneratorScope(c10::DeviceIndex index)
    : device_(*static_cast<at::CPUGeneratorImpl *>(
          cpuGenerator(defaultGenerator(index), c10::Device(c10::kCUDA, index))
              .unsafeGetGeneratorImpl())),
      host_(*static_cast<at::CPUGeneratorImpl *>(
          at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl())),
      lock_(default_generator_mutex) {
  exchange();
}

DefaultGeneratorScope::~DefaultGeneratorScope() {
  exchange();
}

void DefaultGeneratorScope::exchange() {
  std::scoped_lock locks(device_.mutex_, host_.mutex_);
  auto engine = host_.engine();
  auto next_float = host_.next_float_normal_sample();
  auto next_double = host_.next_double_normal_sample();
  host_.set_engine(device_.engine());
  host_.set_next_float_normal_sample(device_.next_float_normal_sample());
  host_.set_next_double_normal_sample(device_.next_double_normal_sample());
  device_.set_engine(engine);
  device_.set_next_float_normal_sample(next_float);
  device_.set_next_double_normal_sample(next_double);
}

} // namespace devsan::sim
