#include "device_check.h"

#include <atomic>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/adaption.h>

#include "observers.h"

namespace devsan::sim {
namespace {

std::atomic<DevSanMismatchObserver> mismatch_observer{nullptr};

struct Operand {
  at::Tensor tensor;
  const char *name;
  bool may_stay_on_cpu;
};
using Operands = c10::SmallVector<Operand, 8>;

Operands operandsOf(const c10::OperatorHandle &op, const OperatorFacts &facts,
                    const torch::jit::Stack &stack) {
  Operands operands;
  const c10::IValue *arguments = stack.data() + stack.size() - facts.argument_count;
  for (std::uint16_t index : facts.check_order) {
    const ArgumentFact &fact = facts.arguments[index];
    const c10::IValue &value = arguments[fact.position];
    const char *name = op.schema().arguments()[fact.position].name().c_str();
    auto add = [&](const at::Tensor &tensor) {
      if (tensor.defined())
        operands.push_back({tensor, name, fact.may_stay_on_cpu});
    };
    if (value.isTensor()) {
      add(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor &tensor : value.toTensorVector())
        add(tensor);
    } else if (value.isOptionalTensorList()) {
      for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorVector())
        if (tensor)
          add(*tensor);
    }
  }
  return operands;
}

[[noreturn]] void refuse(const OperatorFacts &facts, const Operands &operands,
                         const std::string &message) {
  if (DevSanMismatchObserver observer = mismatch_observer.load(std::memory_order_acquire)) {
    c10::SmallVector<const at::Tensor *, 8> tensors;
    c10::SmallVector<const char *, 8> names;
    for (const Operand &operand : operands) {
      tensors.push_back(&operand.tensor);
      names.push_back(operand.name);
    }
    observer(facts.name.name.c_str(), tensors.data(), names.data(), operands.size(),
             message.c_str());
  }
  TORCH_CHECK(false, message);
}

void checkExactSame(const OperatorFacts &facts, const Operands &operands) {
  std::optional<c10::Device> common;
  for (const Operand &operand : operands) {
    if (operand.may_stay_on_cpu && operand.tensor.is_cpu())
      continue;
    if (!common) {
      common = operand.tensor.device();
    } else if (*common != operand.tensor.device()) {
      try {
        c10::impl::common_device_check_failure(*common, operand.tensor, facts.wrapper_name.c_str(),
                                               operand.name);
      } catch (const c10::Error &error) {
        refuse(facts, operands, error.what_without_backtrace());
      }
    }
  }
}

// Index operators move CPU indices to the indexed tensor's device, and take no other.
void checkIndices(const OperatorFacts &facts, const Operands &operands) {
  const Operand *indexed = nullptr;
  for (const Operand &operand : operands)
    if (std::string_view(operand.name) == "self")
      indexed = &operand;
  for (const Operand &operand : operands)
    if (indexed && operand.may_stay_on_cpu && !operand.tensor.is_cpu() &&
        operand.tensor.device() != indexed->tensor.device())
      refuse(facts, operands,
             c10::str("indices should be either on ", c10::Device(c10::kCPU),
                      " or on the same device as the indexed tensor (", indexed->tensor.device(),
                      ")"));
}

// TensorIterator's own rule for operators that cannot be asked: a CPU scalar goes with a device
// tensor, anything else must be on one device. Outputs are never scalars taken by value.
void checkCpuScalarsOnly(const OperatorFacts &facts, const Operands &operands) {
  std::optional<c10::Device> common;
  for (const Operand &operand : operands)
    if (!common && !operand.tensor.is_cpu())
      common = operand.tensor.device();
  for (const Operand &operand : operands) {
    const at::Tensor &tensor = operand.tensor;
    if (tensor.device() == *common ||
        (tensor.is_cpu() && (operand.may_stay_on_cpu || tensor.dim() == 0)))
      continue;
    refuse(
        facts, operands,
        c10::str("Expected all tensors to be on the same device, but found at least two devices, ",
                 *common, " and ", tensor.device(), "!"));
  }
}

// Functional and in-place structured operators have a generated kernel that runs the operator's own
// shape and device checks on the real arguments and then calls its out= operator.
constexpr auto kDefaultKernel = c10::DispatchKey::CompositeExplicitAutogradNonFunctional;

bool namesDevices(const std::string &message) {
  return message.find("on the same device") != std::string::npos ||
         message.find("should be the same") != std::string::npos;
}

void runAndReport(const c10::OperatorHandle &op, const OperatorFacts &facts,
                  const Operands &operands, c10::DispatchKey key, torch::jit::Stack *stack) {
  try {
    op.callBoxedForDispatchKey(key, *stack);
  } catch (const c10::Error &error) {
    std::string message = error.what_without_backtrace();
    if (!namesDevices(message))
      throw;
    refuse(facts, operands, message);
  }
}

} // namespace

bool checkMixedDevices(const c10::OperatorHandle &op, const OperatorFacts &facts,
                       torch::jit::Stack *stack) {
  Operands operands = operandsOf(op, facts, *stack);
  if (facts.check == DeviceCheck::kExactSame) {
    checkExactSame(facts, operands);
    return false;
  }
  if (facts.check == DeviceCheck::kNone && !facts.structured)
    return false;
  checkIndices(facts, operands);
  // TensorIterator itself decides, so that each operator's own rule on CPU scalars holds, and shape
  // errors come before device errors.
  if (facts.structured && op.hasKernelForDispatchKey(kDefaultKernel)) {
    runAndReport(op, facts, operands, kDefaultKernel, stack);
    return true;
  }
  checkCpuScalarsOnly(facts, operands);
  return false;
}

void runComposite(const c10::OperatorHandle &op, c10::DispatchKey key, torch::jit::Stack *stack) {
  const OperatorFacts &facts = operatorFacts(op);
  Operands operands = operandsOf(op, facts, *stack);
  runAndReport(op, facts, operands, key, stack);
}

void refuseOperands(const c10::OperatorHandle &op, const torch::jit::Stack &stack,
                    const std::string &message) {
  const OperatorFacts &facts = operatorFacts(op);
  refuse(facts, operandsOf(op, facts, stack), message);
}

} // namespace devsan::sim

void devsan_sim_set_mismatch_observer(DevSanMismatchObserver observer) {
  devsan::sim::mismatch_observer.store(observer, std::memory_order_release);
}
