// Operators of other libraries that have kernels for CUDA and for the CPU. The one for CUDA is host
// code that launches what no device here runs. It runs all the same, for its waits, guards and
// streams; where a launch had no effect, the CPU's kernel gives the numbers.
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include <ATen/core/Tensor.h>

#include "fallback.h"
#include "runtime/operators/operator_wrapper.h"
#include "runtime/sim/api/c_api.h"
#include "runtime/sim/operators/library.h"

namespace devsan::sim {
namespace {

using torch::jit::Stack;

// The stand-in for CUDA's runtime (runtime/cuda/standin/kernels.c), once something has brought it.
struct Launches {
  void (*expect_cpu_kernel)(int);
  unsigned (*without_effect)();

  static const Launches *find() {
    static std::atomic<const Launches *> found;
    if (const Launches *known = found.load(std::memory_order_acquire))
      return known;
    const Launches launches = {
        reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "devsan_standin_expect_cpu_kernel")),
        reinterpret_cast<unsigned (*)()>(
            dlsym(RTLD_DEFAULT, "devsan_standin_launches_without_effect"))};
    if (launches.expect_cpu_kernel == nullptr || launches.without_effect == nullptr)
      return nullptr;
    found.store(new Launches(launches), std::memory_order_release);
    return found;
  }
};

class LaunchScope {
public:
  explicit LaunchScope(const Launches &launches)
      : launches_(launches), before_(launches.without_effect()) {
    launches_.expect_cpu_kernel(1);
  }
  LaunchScope(const LaunchScope &) = delete;
  LaunchScope &operator=(const LaunchScope &) = delete;
  ~LaunchScope() { launches_.expect_cpu_kernel(-1); }
  bool hadNoEffect() const { return launches_.without_effect() != before_; }

private:
  const Launches &launches_;
  unsigned before_;
};

// What an operator is declared to write, with the values that it found.
class Written {
public:
  Written(const c10::FunctionSchema &schema, const c10::IValue *arguments) {
    for (std::size_t i = 0; i < schema.arguments().size(); ++i)
      if (const c10::AliasInfo *alias = schema.arguments()[i].alias_info();
          alias != nullptr && alias->isWrite())
        for (const at::Tensor &tensor : tensorsOf(arguments[i]))
          if (tensor.defined())
            before_.emplace_back(tensor, tensor.clone());
  }
  void restore() const {
    for (const auto &[tensor, values] : before_)
      tensor.resize_(values.sizes()).copy_(values);
  }

private:
  static std::vector<at::Tensor> tensorsOf(const c10::IValue &value) {
    if (value.isTensor())
      return {value.toTensor()};
    return value.isTensorList() ? value.toTensorVector() : std::vector<at::Tensor>();
  }

  std::vector<std::pair<at::Tensor, at::Tensor>> before_;
};

class OwnKernel : public c10::OperatorKernel {
public:
  OwnKernel(runtime::SafeKernelFunction own, const Launches &launches)
      : own_(std::move(own)), launches_(launches) {}
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
    const auto first = stack->end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size());
    const std::size_t below = static_cast<std::size_t>(first - stack->begin());
    const Stack arguments(first, stack->end());
    const Written written(op.schema(), arguments.data());
    {
      const LaunchScope scope(launches_);
      try {
        own_.callBoxed(op, keys, stack);
      } catch (...) {
        // It may have stumbled over what a launch should have written.
        if (!scope.hadNoEffect())
          throw;
      }
      if (!scope.hadNoEffect())
        return;
    }
    written.restore();
    stack->resize(below);
    stack->insert(stack->end(), arguments.begin(), arguments.end());
    runOnCpu<TensorKind::kDense>(op, keys, stack);
  }

private:
  runtime::SafeKernelFunction own_;
  const Launches &launches_;
};

// For what has been registered since.
void registerCpuFallbacks() {
  static std::mutex mutex;
  static auto *const done = new std::set<std::string>;
  const Launches *launches = Launches::find();
  if (launches == nullptr)
    return;
  std::lock_guard lock(mutex);
  for (const c10::OperatorName &name :
       c10::Dispatcher::singleton().getRegistrationsForDispatchKey(c10::DispatchKey::CUDA)) {
    if (isAtens(name.name) || done->contains(toString(name)))
      continue;
    const auto own =
        runtime::findKernel(name.name.c_str(), name.overload_name.c_str(), c10::DispatchKey::CUDA);
    if (!own || !own->op.hasKernelForDispatchKey(c10::DispatchKey::CPU))
      continue;
    done->insert(toString(name));
    const std::string space = name.name.substr(0, name.name.find("::"));
    runtime::KernelRegistrar(space.c_str(), c10::DispatchKey::CUDA)
        .wrap(*own, std::make_unique<OwnKernel>(own->kernel, *launches));
  }
}

} // namespace

DEVSAN_SIM_AT_LOAD(DEVSAN_SIM_WRAPPERS) {
  registerCpuFallbacks();
}

} // namespace devsan::sim

void devsan_sim_modules_changed() {
  devsan::sim::registerCpuFallbacks();
}
