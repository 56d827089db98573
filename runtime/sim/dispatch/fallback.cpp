#include "fallback.h"

#include <bit>

#include <ATen/core/LegacyTypeDispatch.h>

#include "device_check.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/devices/generators.h"
#include "runtime/sim/graphs/recording.h"
#include "runtime/sim/memory/memory.h"
#include "runtime/sim/operators/dtype_rules.h"
#include "runtime/sim/operators/library.h"
#include "runtime/sim/operators/operator_facts.h"
#include "runtime/sim/streams/blocking.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/stream_accesses.h"
#include "tensor_alias.h"

namespace devsan::sim {
namespace {

using torch::jit::Stack;

constexpr unsigned kNoPosition = 64; // of tensors in lists: remembered for no scalar

// The device that an operator runs on, and whether its operands need the full check.
class DeviceSurvey {
public:
  void see(const at::Tensor &tensor, unsigned position) {
    if (!tensor.defined())
      return;
    c10::Device device = tensor.device();
    if (device.is_cuda()) {
      if (!device_)
        device_ = device;
      else if (*device_ != device)
        elsewhere_ = true;
    } else if (device.is_cpu() && tensor.dim() == 0 && position < 64) {
      cpu_scalars_ |= std::uint64_t{1} << position;
      wrapped_number_ = tensor.unsafeGetTensorImpl()->is_wrapped_number();
    } else {
      elsewhere_ = true;
    }
  }
  void name(c10::Device device) {
    if (device.is_cuda())
      named_ = device;
    to_host_ = device.is_cpu();
  }
  // One number written in the program (x * 2), or one CPU scalar where ATen took one before, needs
  // no check.
  bool needsCheck(const OperatorFacts &facts) const {
    if (!device_ || !(elsewhere_ || cpu_scalars_))
      return false;
    bool one_known_scalar =
        !elsewhere_ && std::has_single_bit(cpu_scalars_) &&
        ((wrapped_number_ && facts.check == DeviceCheck::kTensorIterator) ||
         (cpu_scalars_ & facts.accepted_scalars.load(std::memory_order_relaxed)) != 0);
    return !one_known_scalar;
  }
  void rememberAccepted(const OperatorFacts &facts) const {
    if (!elsewhere_ && std::has_single_bit(cpu_scalars_))
      facts.accepted_scalars.fetch_or(cpu_scalars_, std::memory_order_relaxed);
  }
  // CPU scalars beside device tensors.
  bool hasNumbers() const { return cpu_scalars_ != 0; }
  // The operator is asked for results on the CPU (copies of nested and quantised tensors).
  bool toHost() const { return to_host_; }
  bool hasDevice() const { return device_ || named_; }
  c10::Device device() const {
    if (named_)
      return withIndex(*named_);
    return device_ ? *device_ : c10::Device(c10::kCUDA, currentDevice());
  }

private:
  std::optional<c10::Device> device_, named_;
  std::uint64_t cpu_scalars_ = 0;
  bool wrapped_number_ = false;
  bool elsewhere_ = false;
  bool to_host_ = false;
};

DeviceSurvey survey(const OperatorFacts &facts, const c10::IValue *arguments) {
  DeviceSurvey devices;
  for (const ArgumentFact &fact : facts.arguments) {
    const c10::IValue &value = arguments[fact.position];
    if (value.isTensor()) {
      devices.see(value.toTensor(), fact.position);
    } else if (value.isTensorList()) {
      for (const c10::IValue &element : value.toListRef())
        devices.see(element.toTensor(), kNoPosition);
    } else if (value.isOptionalTensorList()) {
      for (const c10::IValue &element : value.toListRef())
        if (element.isTensor())
          devices.see(element.toTensor(), kNoPosition);
    } else if (value.isDevice()) {
      devices.name(value.toDevice());
    }
  }
  return devices;
}

// As CUDA's kernels, which return before they look at a generator.
bool drawsNothing(const OperatorFacts &facts, const c10::IValue *arguments) {
  const c10::IValue &first = *arguments;
  return facts.has_generator &&
         (first.isTensor() ? first.toTensor().numel() == 0 : first.isInt() && first.toInt() == 0);
}

void toCpu(Translation &translation, c10::IValue &value) {
  if (value.isTensor()) {
    value = translation.toCpu(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    list.reserve(value.toListRef().size());
    for (const c10::IValue &element : value.toListRef())
      list.push_back(translation.toCpu(element.toTensor()));
    value = std::move(list);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue &element : value.toListRef())
      list.push_back(element.isTensor()
                         ? std::optional<at::Tensor>(translation.toCpu(element.toTensor()))
                         : std::nullopt);
    value = std::move(list);
  } else if (value.isStorage()) {
    value = translation.toCpu(value.toStorage());
  } else if (value.isDevice() && value.toDevice().is_cuda()) {
    value = c10::Device(c10::kCPU);
  } else if (value.isGenerator()) {
    value = cpuGenerator(value.toGenerator(), translation.device());
  }
}

void toDevice(Translation &translation, c10::IValue &value) {
  if (value.isTensor()) {
    value = translation.toDevice(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    // Elements must lose their other owner first: only unshared results are relabelled in place.
    std::vector<at::Tensor> tensors = value.toTensorVector();
    value = c10::IValue();
    c10::List<at::Tensor> list;
    list.reserve(tensors.size());
    for (at::Tensor &tensor : tensors)
      list.push_back(translation.toDevice(std::move(tensor)));
    value = std::move(list);
  }
}

[[noreturn]] void refuseUnsimulated(const c10::OperatorHandle &op) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "not simulated: ", toString(op.operator_name()),
      " has no CPU kernel that a simulated device could run; run this operator on a real GPU, "
      "or register a CPU kernel for it");
}

// The CPU has it, but the program would fail on a GPU: with the dispatcher's words.
[[noreturn]] void refuseAsCudaDoes(const c10::OperatorHandle &op, const OperatorFacts &facts,
                                   TensorKind kind) {
  std::string_view name = op.operator_name().name;
  std::string library(name.substr(0, name.find("::")));
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "Could not run '", toString(op.operator_name()), "' with arguments from the '",
      c10::toString(kCudaKeys[static_cast<int>(kind)]),
      "' backend. This could be because the operator doesn't exist for this backend, or was "
      "omitted during the selective/custom build process (if using custom build).",
      facts.known_to_aten ? ""
                          : " (devsan: if a CUDA build of this library has a kernel for it, set "
                            "DEVSAN_SIM_LIBRARIES=" +
                                library + " to let its CPU kernel stand in)");
}

bool hasCpuKernel(const c10::OperatorHandle &op, const OperatorFacts &facts, TensorKind kind) {
  if (C10_LIKELY(facts.cpu_kernels.load(std::memory_order_relaxed) & bitOf(kind)))
    return true;
  if (!op.hasComputedKernelForDispatchKey(kCpuKeys[static_cast<int>(kind)]))
    return false;
  facts.cpu_kernels.fetch_or(bitOf(kind), std::memory_order_relaxed);
  return true;
}

void call(const c10::OperatorHandle &op, TensorKind kind, Stack *stack) {
  const OperatorFacts &facts = operatorFacts(op);
  c10::IValue *arguments = stack->data() + stack->size() - facts.argument_count;
  DeviceSurvey devices = survey(facts, arguments);
  if (C10_UNLIKELY(devices.needsCheck(facts))) {
    MixedDevices outcome = checkMixedDevices(op, facts, stack);
    if (outcome != MixedDevices::kRanOnHost)
      devices.rememberAccepted(facts);
    if (outcome != MixedDevices::kAccepted)
      return;
    arguments = stack->data() + stack->size() - facts.argument_count;
  }
  c10::Device device = devices.device();
  if (C10_UNLIKELY(!(facts.cuda_kernels & bitOf(kind))))
    refuseAsCudaDoes(op, facts, kind);
  c10::DispatchKey key = kCpuKeys[static_cast<int>(kind)];
  if (C10_UNLIKELY(!hasCpuKernel(op, facts, kind)))
    refuseUnsimulated(op);
  if (C10_UNLIKELY(facts.dtype_rule != nullptr))
    checkDtype(*facts.dtype_rule, facts, arguments);
  if (C10_UNLIKELY(!facts.alerts.empty()))
    alertNotDeterministic(facts.alerts, arguments);
  if (auto effect = facts.effects[static_cast<std::size_t>(kind)]; C10_UNLIKELY(effect != nullptr))
    waitFor(effect, {arguments, facts.argument_count});

  if (C10_UNLIKELY(drawsNothing(facts, arguments)))
    for (const ArgumentFact &fact : facts.arguments)
      if (fact.kind == ArgumentKind::kGenerator)
        arguments[fact.position] = c10::IValue();
  // A device generator alone brings an operator on CPU tensors here.
  if (C10_UNLIKELY(facts.has_generator && !devices.hasDevice())) {
    TORCH_CHECK(drawsNothing(facts, arguments), "Expected a '", c10::kCPU,
                "' device type for generator but found '", c10::kCUDA, "'");
    return op.redispatchBoxed(c10::DispatchKeySet(key), stack);
  }
  std::optional<TouchedMemory> touched;
  if (C10_UNLIKELY(areAccessesNoted()) && startsWork(op, facts))
    touched.emplace().addArguments(op, facts, arguments);

  Translation translation(device);
  for (const ArgumentFact &fact : facts.arguments)
    toCpu(translation, arguments[fact.position]);
  if (C10_UNLIKELY(facts.has_generator))
    for (const ArgumentFact &fact : facts.arguments)
      if (fact.kind == ArgumentKind::kGenerator && arguments[fact.position].isNone())
        arguments[fact.position] = cpuGenerator(defaultGenerator(device.index()), device);
  {
    CurrentDeviceScope current(device.index());
    std::optional<KernelScope> kernel;
    if (C10_LIKELY(!devices.toHost()))
      kernel.emplace(device.index(), devices.hasNumbers());
    // The CPU's autocast would cast inside a kernel that computes for a device.
    std::optional<c10::impl::ExcludeDispatchKeyGuard> no_autocast;
    if (C10_UNLIKELY(!c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCPU)))
      no_autocast.emplace(c10::DispatchKey::AutocastCPU);
    std::optional<DefaultGeneratorScope> generator;
    if (C10_UNLIKELY(facts.draws_implicitly))
      generator.emplace(device.index());
    std::optional<WiderCall> wider;
    if (C10_UNLIKELY(facts.wider_dtypes[static_cast<std::size_t>(kind)] != 0))
      wider.emplace(facts, kind, arguments);
    try {
      op.redispatchBoxed(c10::DispatchKeySet(key), stack);
    } catch (...) {
      // Kernels resize results before they refuse operands.
      translation.updateArguments();
      throw;
    }
    if (C10_UNLIKELY(wider.has_value()))
      wider->finish(facts, stack->data() + stack->size() - facts.return_count);
  }
  if (facts.mutates || C10_UNLIKELY(translation.hasCopyOnWrite()))
    translation.updateArguments();
  if (C10_UNLIKELY(devices.toHost()))
    return;
  c10::IValue *results = stack->data() + stack->size() - facts.return_count;
  for (std::uint16_t i = 0; i < facts.return_count; ++i)
    toDevice(translation, results[i]);
  if (C10_UNLIKELY(touched.has_value())) {
    touched->addResults({results, facts.return_count});
    noteAccesses(facts.name.name.c_str(), *touched, currentStream(device.index()));
  }
}

} // namespace

template <TensorKind kind>
void runOnCpu(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
  if (C10_LIKELY(!isAnythingCaptured()))
    return call(op, kind, stack);
  runRecorded(op, keys, stack, [&] { call(op, kind, stack); });
}

template void runOnCpu<TensorKind::kDense>(const c10::OperatorHandle &, c10::DispatchKeySet,
                                           Stack *);
template void runOnCpu<TensorKind::kSparse>(const c10::OperatorHandle &, c10::DispatchKeySet,
                                            Stack *);
template void runOnCpu<TensorKind::kSparseCsr>(const c10::OperatorHandle &, c10::DispatchKeySet,
                                               Stack *);
template void runOnCpu<TensorKind::kQuantized>(const c10::OperatorHandle &, c10::DispatchKeySet,
                                               Stack *);
template void runOnCpu<TensorKind::kNested>(const c10::OperatorHandle &, c10::DispatchKeySet,
                                            Stack *);

namespace {

template <TensorKind kind> torch::CppFunction kernel() {
  return torch::CppFunction::makeFromBoxedFunction<&runOnCpu<kind>>();
}

bool hasKernel(const CudaOperator &op, c10::DispatchKey key) {
  std::size_t dot = op.name.find('.');
  c10::OperatorName name("aten::" + std::string(op.name.substr(0, dot)),
                         dot == std::string_view::npos ? "" : std::string(op.name.substr(dot + 1)));
  auto found = c10::Dispatcher::singleton().findOp(name);
  return found && found->hasKernelForDispatchKey(key);
}

// An operator with a composite kernel never reaches a fallback; where CUDA has a kernel of its own,
// neither must it here.
template <TensorKind kind> void registerOverComposites(torch::Library &library) {
  for (const CudaOperator &op : cudaOperators())
    if ((op.over_composite & bitOf(kind)) && !hasKernel(op, kCudaKeys[static_cast<int>(kind)]))
      library.impl(op.name.data(), kernel<kind>());
}

} // namespace

DEVSAN_SIM_FALLBACK_IMPL(_, CUDA, m) {
  m.fallback(kernel<TensorKind::kDense>());
}
DEVSAN_SIM_FALLBACK_IMPL(_, SparseCUDA, m) {
  m.fallback(kernel<TensorKind::kSparse>());
}
DEVSAN_SIM_FALLBACK_IMPL(_, SparseCsrCUDA, m) {
  m.fallback(kernel<TensorKind::kSparseCsr>());
}
DEVSAN_SIM_FALLBACK_IMPL(_, QuantizedCUDA, m) {
  m.fallback(kernel<TensorKind::kQuantized>());
}
DEVSAN_SIM_FALLBACK_IMPL(_, NestedTensorCUDA, m) {
  m.fallback(kernel<TensorKind::kNested>());
}

DEVSAN_SIM_FALLBACK_IMPL(aten, CUDA, m) {
  registerOverComposites<TensorKind::kDense>(m);
}
DEVSAN_SIM_FALLBACK_IMPL(aten, SparseCUDA, m) {
  registerOverComposites<TensorKind::kSparse>(m);
}
DEVSAN_SIM_FALLBACK_IMPL(aten, SparseCsrCUDA, m) {
  registerOverComposites<TensorKind::kSparseCsr>(m);
}
DEVSAN_SIM_FALLBACK_IMPL(aten, QuantizedCUDA, m) {
  registerOverComposites<TensorKind::kQuantized>(m);
}
DEVSAN_SIM_FALLBACK_IMPL(aten, NestedTensorCUDA, m) {
  registerOverComposites<TensorKind::kNested>(m);
}

} // namespace devsan::sim
