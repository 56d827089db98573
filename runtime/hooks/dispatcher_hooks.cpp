#include "runtime/hooks/dispatcher_hooks.h"

#include "runtime/cuda/observer.h"
#include "runtime/hooks/provenance.h"
#include "runtime/operators/effects.h"
#include "runtime/operators/operator_wrapper.h"
#include "runtime/record/autograd_state.h"
#include "runtime/record/device_keys.h"
#include "runtime/record/forward_calls.h"
#include "runtime/record/origins.h"
#include "runtime/record/recorder.h"
#include "runtime/record/refusal.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <cstring>

namespace devsan::runtime {
namespace {

// The outermost hooked operator that runs on a thread; what the operators inside it do counts as
// its doing.
struct OuterCall {
  bool blocks = false;
  CudaActivity cuda;
};

thread_local OuterCall *outer_call = nullptr;

class OuterScope {
public:
  explicit OuterScope(OuterCall &call) {
    outer_call = &call;
    CudaActivity::current() = &call.cuda;
  }
  ~OuterScope() {
    outer_call = nullptr;
    CudaActivity::current() = nullptr;
  }
};

// What is expected of an operator counts where nothing better is known: the calls of CUDA that it
// made. The wait is the whole call's.
void decideWait(Effect &effect, std::uint64_t &blocked, const OuterCall &call) {
  if (cudaIsObserved() && effect.waitsFor().is_cuda()) {
    effect.blocks = call.cuda.blocks;
    blocked = call.cuda.blocked_ns;
  } else {
    effect.blocks |= call.blocks;
  }
}

Event makeEvent(const Effect &effect, StringId op) {
  Event event;
  event.kind = effect.copies ? EventKind::kCopy : EventKind::kBlock;
  event.flags = effect.flags | (effect.blocks ? kBlocks : 0);
  event.from = toDeviceId(effect.from);
  event.to = toDeviceId(effect.to);
  event.bytes = effect.bytes;
  event.op = op;
  if (effect.copies && !effect.to.is_cpu())
    event.current_device = c10::impl::getDeviceGuardImpl(effect.to.type())->getDevice().index();
  return event;
}

class Hook : public c10::OperatorKernel {
public:
  Hook(WrappedKernel wrapped, const OperatorEffect &hooked)
      : kernel_(std::move(wrapped.kernel)), hooked_(hooked),
        is_copy_(std::strcmp(hooked.name, "aten::copy_") == 0) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    Effect effect = InsideRuntime::active() ? Effect{} : effectOf(op, *stack);
    // Operators inside a call that does nothing itself speak for themselves.
    if (!effect.any()) {
      kernel_.callBoxed(op, keys, stack);
      return;
    }
    at::Tensor source;
    if (is_copy_)
      source = (*stack)[stack->size() - 2].toTensor();
    if (outer_call) {
      outer_call->blocks |= effect.blocks;
      kernel_.callBoxed(op, keys, stack);
      if (is_copy_)
        followCopy(stack->back().toTensor(), source, effect, 0);
      return;
    }
    if (mayRefuse())
      refuseWhereDisallowed(makeEvent(effect, recorder().string(hooked_.name)), hooked_.name);
    const HostOperands operands = effect.copies && effect.from.is_cpu() && !is_copy_
                                      ? hostOperands(op, *stack)
                                      : HostOperands{};
    OuterCall call;
    std::uint64_t begin, end;
    {
      OuterScope scope(call);
      begin = monotonicTime();
      kernel_.callBoxed(op, keys, stack);
      end = monotonicTime();
    }
    record(call, effect, begin, end, is_copy_ ? &stack->back().toTensor() : nullptr, source,
           operands);
  }

private:
  struct HostOperands {
    StackId origin = 0; // of the first; 0 where none is known
    StringId names = 0; // "indices[0], values"
  };

  Effect effectOf(const c10::OperatorHandle &op, const torch::jit::Stack &stack) const {
    InsideRuntime inside;
    try {
      std::size_t count = op.schema().arguments().size();
      return hooked_.effect({stack.data() + (stack.size() - count), count});
    } catch (...) {
      // Arguments that the operator itself is about to reject.
      return {};
    }
  }

  // Copies inside the operator are part of its one event: it reads by them, or sends a table.
  void record(const OuterCall &call, Effect effect, std::uint64_t begin, std::uint64_t end,
              const at::Tensor *copied, const at::Tensor &source,
              const HostOperands &operands) const try {
    InsideRuntime inside;
    std::uint64_t blocked = end - begin;
    Recorder &out = recorder();
    StringId op = out.string(hooked_.name);
    StackId stack = out.currentStack();
    const Effect own = effect;
    decideWait(effect, blocked, call);
    if (effect.any()) {
      Event event = makeEvent(effect, op);
      event.stack = stack;
      event.time_ns = end;
      event.call_ns = end - begin;
      event.blocked_ns = effect.blocks ? blocked : 0;
      if (copied && tellsOrigin(effect, source))
        event.related = originOf(source.is_cpu() ? source : *copied).stack;
      else if (effect.copies && effect.from.is_cpu() && !inBackward())
        event.related = operands.origin;
      if (effect.copies && effect.from.is_cpu())
        event.operand = operands.names;
      out.record(event);
    }
    if (!inBackward())
      noteForwardCall(hooked_.name, stack);
    if (copied)
      followCopy(*copied, source, own, stack);
  } catch (...) {
    // Out of memory: the program's call succeeded and must return.
  }

  static void followCopy(const at::Tensor &to, const at::Tensor &from, const Effect &effect,
                         StackId stack) try {
    InsideRuntime inside;
    if (stack == 0)
      stack = recorder().currentStack();
    noteCopy(to, from, effect, stack);
    if (isFresh(to))
      noteOrigin(to, {stack, /*is_move=*/true});
  } catch (...) {
  }

  static HostOperands hostOperands(const c10::OperatorHandle &op,
                                   const torch::jit::Stack &stack) try {
    InsideRuntime inside;
    HostOperands operands;
    std::string names;
    const auto look = [&](const at::Tensor &tensor, const std::string &name) {
      if (!tensor.defined() || !tensor.is_cpu())
        return;
      names += (names.empty() ? "" : ", ") + name;
      if (operands.origin == 0)
        operands.origin = originOf(tensor).stack;
    };
    const std::vector<c10::Argument> &arguments = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::IValue &value = stack[stack.size() - arguments.size() + i];
      if (value.isTensor())
        look(value.toTensor(), arguments[i].name());
      else if (value.isList())
        for (std::size_t k = 0; k < value.toListRef().size(); ++k)
          if (const c10::IValue &element = value.toListRef()[k]; element.isTensor())
            look(element.toTensor(), arguments[i].name() + '[' + std::to_string(k) + ']');
    }
    operands.names = recorder().string(names);
    return operands;
  } catch (...) {
    return {};
  }

  // In a backward, the recorder tells of the forward call.
  static bool tellsOrigin(const Effect &effect, const at::Tensor &source) {
    return isParameter(source) ||
           (effect.blocks && ((effect.flags & kNonBlocking) || (source.is_cpu() && !inBackward())));
  }

  static bool isParameter(const at::Tensor &tensor) {
    return tensor.is_leaf() && tensor.requires_grad();
  }

  // A tensor that `.to()` and its kind have just made: written for the first time and known to
  // nobody else. A parameter that is overwritten in place is not moved.
  static bool isFresh(const at::Tensor &tensor) {
    constexpr std::size_t kCallerAndStack = 2;
    return tensor.use_count() <= kCallerAndStack &&
           (tensor.is_inference() || tensor._version() == 0) && !isKnownToPython(tensor);
  }

  SafeKernelFunction kernel_;
  const OperatorEffect &hooked_;
  bool is_copy_;
};

// SparseCUDA for sparse tensors on CUDA.
c10::DispatchKey keyOf(Layouts layout, c10::DispatchKey dense) {
  auto functionality = [&] {
    switch (layout) {
    case kDense:
      return c10::DispatchKey::Dense;
    case kSparse:
      return c10::DispatchKey::Sparse;
    case kSparseCompressed:
      return c10::DispatchKey::SparseCsr;
    case kQuantized:
      return c10::DispatchKey::Quantized;
    case kNested:
      return c10::DispatchKey::NestedTensor;
    }
    return c10::DispatchKey::Undefined;
  }();
  return c10::toRuntimePerBackendFunctionalityKey(functionality, c10::toBackendComponent(dense));
}

} // namespace

void installDispatcherHooks() {
  for (c10::DispatchKey dense : deviceKeys())
    for (Layouts layout : kLayouts) {
      c10::DispatchKey key = keyOf(layout, dense);
      auto *registrar = new KernelRegistrar("aten", key);
      for (const OperatorEffect &hooked : operatorEffects())
        if (hooked.layouts & layout)
          if (auto wrapped = findKernel(hooked.name, hooked.overload, key))
            registrar->wrap(*wrapped, std::make_unique<Hook>(*wrapped, hooked));
    }
}

} // namespace devsan::runtime
