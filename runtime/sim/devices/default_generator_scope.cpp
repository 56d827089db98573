#include "generators.h"

namespace devsan::sim {
namespace {

std::recursive_mutex exchange_mutex;

} // namespace

DefaultGeneratorScope::DefaultGeneratorScope(c10::DeviceIndex index)
    : lent_(cpuGenerator(defaultGenerator(index), c10::Device(c10::kCUDA, index))),
      lock_(exchange_mutex) {
  exchange();
}

DefaultGeneratorScope::~DefaultGeneratorScope() {
  exchange();
}

void DefaultGeneratorScope::exchange() {
  auto &lent = *static_cast<at::CPUGeneratorImpl *>(lent_.unsafeGetGeneratorImpl());
  auto &host = *static_cast<at::CPUGeneratorImpl *>(
      at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl());
  std::lock_guard lock(host.mutex_);
  auto engine = host.engine();
  auto next_float = host.next_float_normal_sample();
  auto next_double = host.next_double_normal_sample();
  host.set_engine(lent.engine());
  host.set_next_float_normal_sample(lent.next_float_normal_sample());
  host.set_next_double_normal_sample(lent.next_double_normal_sample());
  lent.set_engine(engine);
  lent.set_next_float_normal_sample(next_float);
  lent.set_next_double_normal_sample(next_double);
}

} // namespace devsan::sim
