#include "fallback.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include "device_check.h"
#include "devices.h"
#include "generators.h"
#include "memory.h"
#include "operator_facts.h"
#include "tensor_alias.h"

namespace devsan::sim {
namespace {

using torch::jit::Stack;

// The first device among the operands, and whether another operand lives elsewhere (including on the CPU).
class DeviceSurvey {
public:
  void see(const at::Tensor &tensor) {
    if (!tensor.defined())
      return;
    c10::Device device = tensor.device();
    if (!device.is_cuda()) {
      saw_other_ = true;
    } else if (!device_) {
      device_ = device;
    } else if (*device_ != device) {
      saw_other_ = true;
    }
  }
  void name(c10::Device device) {
    if (device.is_cuda())
      named_ = device;
  }
  bool mixed() const { return saw_other_ && device_; }
  c10::Device device() const {
    if (named_)
      return withIndex(*named_);
    return device_ ? *device_ : c10::Device(c10::kCUDA, currentDevice());
  }

private:
  std::optional<c10::Device> device_, named_;
  bool saw_other_ = false;
};

DeviceSurvey survey(const OperatorFacts &facts, const c10::IValue *arguments) {
  DeviceSurvey devices;
  for (const ArgumentFact &fact : facts.arguments) {
    const c10::IValue &value = arguments[fact.position];
    if (value.isTensor()) {
      devices.see(value.toTensor());
    } else if (value.isTensorList()) {
      for (const auto &element : value.toTensorList())
        devices.see(static_cast<const c10::IValue &>(element.get()).toTensor());
    } else if (value.isOptionalTensorList()) {
      for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorVector())
        if (tensor)
          devices.see(*tensor);
    } else if (value.isDevice()) {
      devices.name(value.toDevice());
    }
  }
  return devices;
}

void toCpu(Translation &translation, c10::IValue &value) {
  if (value.isTensor()) {
    value = translation.toCpu(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor &tensor : value.toTensorVector())
      list.push_back(translation.toCpu(tensor));
    value = std::move(list);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorVector())
      list.push_back(tensor ? std::optional<at::Tensor>(translation.toCpu(*tensor)) : std::nullopt);
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

c10::DispatchKey cpuKey(const c10::DispatchKeySet &keys) { return c10::DispatchKey::CPU; }

[[noreturn]] void refuseUnsimulated(const c10::OperatorHandle &op) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "not simulated: ", toString(op.operator_name()),
                              " has no CPU kernel that a simulated device could run; run this operator on a real GPU, "
                              "or register a CPU kernel for it");
}

} // namespace

void runOnCpu(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
  const OperatorFacts &facts = operatorFacts(op);
  c10::IValue *arguments = stack->data() + stack->size() - facts.argument_count;
  DeviceSurvey devices = survey(facts, arguments);
  if (C10_UNLIKELY(devices.mixed()))
    checkMixedDevices(op, facts, *stack);
  c10::Device device = devices.device();
  c10::DispatchKey key = cpuKey(keys);
  if (C10_UNLIKELY(!op.hasComputedKernelForDispatchKey(key)))
    refuseUnsimulated(op);

  Translation translation(device);
  for (const ArgumentFact &fact : facts.arguments)
    toCpu(translation, arguments[fact.position]);
  if (C10_UNLIKELY(facts.has_generator))
    for (const ArgumentFact &fact : facts.arguments)
      if (fact.kind == ArgumentKind::kGenerator && arguments[fact.position].isNone())
        arguments[fact.position] = cpuGenerator(defaultGenerator(device.index()), device);
  {
    CurrentDeviceScope current(device.index());
    KernelScope kernel(device.index());
    // The CPU's autocast would cast inside a kernel that computes for a device.
    c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
    std::optional<DefaultGeneratorScope> generator;
    if (C10_UNLIKELY(facts.draws_implicitly))
      generator.emplace(device.index());
    op.redispatchBoxed(c10::DispatchKeySet(key), stack);
  }
  if (facts.mutates)
    translation.updateArguments();
  c10::IValue *results = stack->data() + stack->size() - facts.return_count;
  for (std::uint16_t i = 0; i < facts.return_count; ++i)
    toDevice(translation, results[i]);
}

TORCH_LIBRARY_IMPL(_, CUDA, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&runOnCpu>()); }

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  for (const CudaOperator &op : cudaOperators())
    if (op.needs_registration)
      m.impl(op.name.data(), torch::CppFunction::makeFromBoxedFunction<&runOnCpu>());
}

} // namespace devsan::sim
