// Finding the kernel that an operator has for a dispatch key, and putting a functor over it: what
// the runtime's hooks and the simulator share. The wrappers are never taken off again: doing so at
// exit would pull kernels from under running threads.
#pragma once

#include <torch/library.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/operators/torch_release.h"

namespace devsan::runtime {

struct WrappedKernel {
  c10::OperatorHandle op;
  SafeKernelFunction kernel;
};

// The kernel that runs for `key`. None where this LibTorch lacks the operator or has no kernel, and
// where the kernel is the operator's composite implicit one: registering over that would cut it off
// from autograd.
inline std::optional<WrappedKernel> findKernel(const char *name, const char *overload,
                                               c10::DispatchKey key) {
  auto op = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!op || !op->hasComputedKernelForDispatchKey(key))
    return std::nullopt;
  if (!op->hasKernelForDispatchKey(key) &&
      op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd))
    return std::nullopt;
  return WrappedKernel{*op, computedKernel(*op, key)};
}

// LibTorch warns on stderr about kernels registered over others.
class SilentWarnings : public c10::WarningHandler {
public:
  void process(const c10::Warning &) override {}
};

class KernelRegistrar {
public:
  KernelRegistrar(const char *name_space, c10::DispatchKey key)
      : library_(new torch::Library(torch::Library::IMPL, name_space, key, __FILE__, __LINE__)) {}

  template <typename Functor>
  void wrap(const WrappedKernel &wrapped, std::unique_ptr<Functor> functor) {
    SilentWarnings silent;
    c10::WarningUtils::WarningHandlerGuard guard(&silent);
    const c10::OperatorName &name = wrapped.op.operator_name();
    library_->impl(toString(name).c_str(),
                   torch::CppFunction::makeFromBoxedFunctor(std::move(functor)));
  }

private:
  torch::Library *library_;
};

} // namespace devsan::runtime
