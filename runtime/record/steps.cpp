#include "runtime/record/steps.h"

#include "runtime/log/fork_gate.h"
#include "runtime/log/spin_lock.h"
#include "runtime/protocol/event.h"
#include "runtime/record/recorder.h"
#include "runtime/record/redirect.h"

#include <ATen/core/Tensor.h>
#include <array>
#include <atomic>
#include <dlfcn.h>
#include <functional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace devsan::runtime {
namespace {

// Which optimizer's step ends a step. An iteration may have several optimizers (a GAN's two), which
// end one step together: the first that steps leads, and ends a step whenever it steps. Where
// another one steps twice while the leader does not step, the leader is out of use or less often at
// work, and the other one leads from then on.
class Leader {
public:
  bool endsStep(const void *optimizer) {
    if (leader_ && optimizer != leader_ && !steppedTwice(optimizer))
      return false;
    leader_ = optimizer;
    stepped_.clear();
    return true;
  }

private:
  bool steppedTwice(const void *optimizer) {
    return stepped_.size() >= kMaxOthers || !stepped_.insert(optimizer).second;
  }

  // A program with one optimizer for each parameter has thousands; one that makes a new one for
  // each of its steps has no end of them.
  static constexpr std::size_t kMaxOthers = 1 << 16;

  const void *leader_ = nullptr;
  std::unordered_set<const void *> stepped_; // others, since the leader's last step
};

std::atomic<bool> program_says{false};
// Taken within the fork gate: a forked child finds it free.
std::atomic_flag busy = ATOMIC_FLAG_INIT;

bool endsStep(const void *optimizer) {
  static Leader *leader = new Leader; // never destroyed
  InsideForkGate gate;
  SpinLock alone(busy);
  return leader->endsStep(optimizer);
}

void optimizerStepped(const void *optimizer) try {
  if (program_says.load(std::memory_order_relaxed) || InsideRuntime::active() ||
      !recorder().recording())
    return;
  InsideRuntime inside;
  if (endsStep(optimizer))
    recorder().countStep(kRecognizedStep);
} catch (...) {
  // Out of memory: the optimizer has done its work.
}

// A member function takes its object as the first argument.
using Closure = std::function<at::Tensor()>;
using Step = at::Tensor(void *, Closure);

constexpr std::array<const char *, 6> kSteps = {
    "_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim4Adam4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim5AdamW4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim5LBFGS4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim7Adagrad4stepESt8functionIFN2at6TensorEvEE",
    "_ZN5torch5optim7RMSprop4stepESt8functionIFN2at6TensorEvEE"};
std::array<Step *, kSteps.size()> real_steps{};

template <std::size_t optimizer> at::Tensor step(void *self, Closure closure) {
  at::Tensor loss = real_steps[optimizer](self, std::move(closure));
  optimizerStepped(self);
  return loss;
}

template <std::size_t... optimizers> void redirectSteps(std::index_sequence<optimizers...>) {
  std::vector<Redirection> redirections;
  auto add = [&](std::size_t optimizer, Step *replacement) {
    const Redirection redirection(kSteps[optimizer], reinterpret_cast<void *>(replacement));
    real_steps[optimizer] = reinterpret_cast<Step *>(redirection.function);
    if (redirection.function)
      redirections.push_back(redirection);
  };
  (add(optimizers, step<optimizers>), ...);
  redirectCalls(redirections);
}

// CPython's PyMethodDef and what goes with it: all of its stable ABI.
using Method = void *(void *self, void *argument);
struct MethodDefinition {
  const char *name;
  Method *function;
  int flags;
  const char *documentation;
};
constexpr int kOneArgument = 0x0008; // METH_O

using MakeFunction = void *(MethodDefinition *, void *self, void *module);
using Increment = void(void *);
Increment *increment = nullptr;
void *none = nullptr;

MethodDefinition stepped_method = {"optimizer_stepped",
                                   [](void *, void *optimizer) {
                                     optimizerStepped(optimizer);
                                     increment(none);
                                     return none;
                                   },
                                   kOneArgument, nullptr};

} // namespace

void observeOptimizers() {
  redirectSteps(std::make_index_sequence<kSteps.size()>());
}

} // namespace devsan::runtime

using namespace devsan::runtime;

// What runtime/include/devsan/devsan.h and the Python package call.
extern "C" __attribute__((visibility("default"))) void devsan_step() {
  program_says.store(true, std::memory_order_relaxed);
  recorder().countStep(0);
}

// A builtin function of Python that takes an optimizer, a new reference: calls through ctypes cost
// more than what is done in them. Null where the interpreter's functions are not found. The
// interpreter's lock is held.
extern "C" __attribute__((visibility("default"))) void *devsan_optimizer_stepped_function() {
  auto *make_function = reinterpret_cast<MakeFunction *>(dlsym(RTLD_DEFAULT, "PyCFunction_NewEx"));
  increment = reinterpret_cast<Increment *>(dlsym(RTLD_DEFAULT, "Py_IncRef"));
  none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
  if (!make_function || !increment || !none)
    return nullptr;
  return make_function(&stepped_method, nullptr, nullptr);
}
