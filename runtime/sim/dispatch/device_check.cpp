#include "device_check.h"

#include <atomic>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/adaption.h>

#include "runtime/sim/api/observers.h"
#include "tensor_alias.h"

namespace devsan::sim {
namespace {

std::atomic<DevSanMismatchObserver> mismatch_observer{nullptr};

struct Operand {
  at::Tensor tensor;
  const char *name;
  bool may_stay_on_cpu;
  bool is_written;
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
        operands.push_back({tensor, name, fact.may_stay_on_cpu, fact.is_written});
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

// The first device that is not the CPU, outputs before inputs: what TensorIterator computes on.
c10::Device commonDevice(const Operands &operands) {
  for (const Operand &operand : operands)
    if (!operand.tensor.is_cpu())
      return operand.tensor.device();
  return c10::Device(c10::kCPU);
}

[[noreturn]] void refuseTwoDevices(const OperatorFacts &facts, const Operands &operands,
                                   c10::Device common, c10::Device other) {
  refuse(facts, operands,
         c10::str("Expected all tensors to be on the same device, but found at least two devices, ",
                  common, " and ", other, "!"));
}

bool isCpuScalar(const Operand &operand) {
  return operand.tensor.is_cpu() && operand.tensor.dim() == 0 && !operand.is_written;
}

// TensorIterator's own rule: all on one device, but for `cpu_scalars` scalars that a kernel takes
// by value.
void checkIterator(const OperatorFacts &facts, const Operands &operands, int cpu_scalars) {
  c10::Device common = commonDevice(operands);
  for (const Operand &operand : operands) {
    if (operand.may_stay_on_cpu && operand.tensor.is_cpu())
      continue;
    if (isCpuScalar(operand) && cpu_scalars > 0)
      --cpu_scalars;
    else if (operand.tensor.device() != common)
      refuseTwoDevices(facts, operands, common, operand.tensor.device());
  }
}

const Operand *find(const Operands &operands, std::string_view name) {
  for (const Operand &operand : operands)
    if (name == operand.name)
      return &operand;
  return nullptr;
}

// CUDA kernels that check their operands themselves. Each returns whether the operator then runs
// on the host, because what it writes is there.
using OwnCheck = bool (*)(const OperatorFacts &, const Operands &, const c10::IValue *arguments);

// A scalar given as a tensor is read with item(), wherever it is.
bool readsValue(const OperatorFacts &, const Operands &operands, const c10::IValue *) {
  return find(operands, "self")->tensor.is_cpu();
}

bool checkWhere(const OperatorFacts &facts, const Operands &operands, const c10::IValue *) {
  c10::Device common = commonDevice(operands);
  for (const Operand &operand : operands)
    if (operand.tensor.device() != common && (operand.tensor.dim() != 0 || operand.is_written))
      refuseTwoDevices(facts, operands, common, operand.tensor.device());
  return false;
}

bool checkMaskedFill(const OperatorFacts &facts, const Operands &operands, const c10::IValue *) {
  const at::Tensor &self = find(operands, "self")->tensor, &mask = find(operands, "mask")->tensor;
  if (find(operands, "value") && self.is_cpu())
    refuse(facts, operands, "masked_fill_: Expected inputs to be on same device");
  if (self.device() != mask.device())
    refuse(facts, operands,
           c10::str("expected self and mask to be on same device, but got mask on ", mask.device(),
                    " and self on ", self.device()));
  return false;
}

bool checkIndexFill(const OperatorFacts &facts, const Operands &operands, const c10::IValue *) {
  const at::Tensor &self = find(operands, "self")->tensor, &index = find(operands, "index")->tensor;
  if (self.device() != index.device())
    refuse(facts, operands,
           c10::str("index_fill_(): self and index value tensors should have same device type, but "
                    "got self tensor device type ",
                    self.device(), " and index value tensor device type ", index.device()));
  return self.is_cpu();
}

// One element of the CPU, put where a mask of the tensor's device says, becomes a masked_fill_.
bool isMaskedFill(const Operands &operands, const at::Tensor &self, const at::Tensor &values) {
  if (!values.is_cpu() || values.numel() != 1)
    return false;
  int masks = 0;
  for (const Operand &operand : operands) {
    if (std::string_view(operand.name) != "indices")
      continue;
    at::ScalarType dtype = operand.tensor.scalar_type();
    if (++masks > 1 || operand.tensor.device() != self.device() ||
        (dtype != at::kBool && dtype != at::kByte))
      return false;
  }
  return masks == 1;
}

bool checkIndexPut(const OperatorFacts &facts, const Operands &operands,
                   const c10::IValue *arguments) {
  checkIndices(facts, operands);
  const at::Tensor &self = find(operands, "self")->tensor;
  const at::Tensor &values = find(operands, "values")->tensor;
  bool accumulate = arguments[3].toBool();
  if (values.device() != self.device() && values.dim() != 0 &&
      (accumulate || !isMaskedFill(operands, self, values))) {
    if (accumulate && self.is_cuda())
      refuse(facts, operands,
             c10::str("expected device ", self.device(), " but got device ", values.device(),
                      " for value tensor"));
    refuseTwoDevices(facts, operands, self.is_cpu() ? values.device() : self.device(),
                     self.is_cpu() ? self.device() : values.device());
  }
  return self.is_cpu();
}

// Probabilities are moved to the tensor that is filled.
bool checkBernoulli(const OperatorFacts &facts, const Operands &operands, const c10::IValue *) {
  if (find(operands, "self")->tensor.is_cpu())
    checkIterator(facts, operands, 0);
  return false;
}

// The weight is multiplied in afterwards, by an operator that takes a CPU scalar.
bool checkBinaryCrossEntropy(const OperatorFacts &facts, const Operands &operands,
                             const c10::IValue *) {
  c10::Device common = commonDevice(operands);
  for (const Operand &operand : operands)
    if (operand.tensor.device() != common &&
        !(isCpuScalar(operand) && std::string_view(operand.name) == "weight"))
      refuseTwoDevices(facts, operands, common, operand.tensor.device());
  return false;
}

// The wrapper checks positional arguments alone; the kernel then looks at the sorter.
bool checkSearchsorted(const OperatorFacts &facts, const Operands &operands, const c10::IValue *) {
  Operands positional;
  for (const Operand &operand : operands)
    if (std::string_view(operand.name) != "sorter")
      positional.push_back(operand);
  checkExactSame(facts, positional);
  const at::Tensor &sequence = find(operands, "sorted_sequence")->tensor;
  if (const Operand *sorter = find(operands, "sorter");
      sorter && sorter->tensor.device() != sequence.device())
    refuse(facts, operands,
           c10::str("torch.searchsorted(): sorter and boundary tensors should have same device "
                    "type, but got sorter tensor device type ",
                    sorter->tensor.device(), " and input value tensor device type ",
                    sequence.device()));
  return false;
}

// As for searchsorted: its segments are given by keyword.
bool checkSegmentReduce(const OperatorFacts &facts, const Operands &operands, const c10::IValue *) {
  const at::Tensor &data = find(operands, "data")->tensor;
  for (const char *name : {"lengths", "offsets"})
    if (const Operand *segments = find(operands, name);
        segments && segments->tensor.device() != data.device())
      refuse(facts, operands,
             c10::str("Expected data.get_device() == ", name,
                      "_value.get_device() to be true, but got false.  (Could this error message "
                      "be improved?  If so, please report an enhancement request to PyTorch.)"));
  return false;
}

bool takesOneCpuScalar(const OperatorFacts &facts, const Operands &operands, const c10::IValue *) {
  checkIterator(facts, operands, 1);
  return false;
}

struct OwnRule {
  std::string_view op; // all overloads, unless one is named
  std::string_view overload;
  OwnCheck check;
};
constexpr OwnRule kOwnRules[] = {
    {"aten::fill_", "Tensor", &readsValue},
    {"aten::where", "", &checkWhere},
    {"aten::masked_fill_", "", &checkMaskedFill},
    {"aten::index_fill_", "", &checkIndexFill},
    {"aten::_index_put_impl_", "", &checkIndexPut},
    {"aten::bernoulli_", "Tensor", &checkBernoulli},
    {"aten::binary_cross_entropy", "", &checkBinaryCrossEntropy},
    {"aten::searchsorted", "", &checkSearchsorted},
    {"aten::segment_reduce", "", &checkSegmentReduce},
    {"aten::logical_and", "", &takesOneCpuScalar},
    {"aten::logical_or", "", &takesOneCpuScalar},
    {"aten::logical_xor", "", &takesOneCpuScalar},
    {"aten::floor_divide", "", &takesOneCpuScalar},
    {"aten::floor_divide_", "", &takesOneCpuScalar},
    {"aten::ldexp", "", &takesOneCpuScalar},
    {"aten::rsub", "", &takesOneCpuScalar},
    {"aten::__lshift__", "", &takesOneCpuScalar},
    {"aten::__ilshift__", "", &takesOneCpuScalar},
    {"aten::__rshift__", "", &takesOneCpuScalar},
    {"aten::__irshift__", "", &takesOneCpuScalar},
};

OwnCheck ownCheck(const OperatorFacts &facts) {
  for (const OwnRule &rule : kOwnRules)
    if (facts.name.name == rule.op &&
        (rule.overload.empty() || facts.name.overload_name == rule.overload))
      return rule.check;
  return nullptr;
}

// The operator writes to the host: its device operands are read there.
void runOnHost(const c10::OperatorHandle &op, const OperatorFacts &facts,
               torch::jit::Stack *stack) {
  c10::IValue *arguments = stack->data() + stack->size() - facts.argument_count;
  c10::Device device(c10::kCPU);
  for (const ArgumentFact &fact : facts.arguments)
    if (const c10::IValue &value = arguments[fact.position];
        value.isTensor() && value.toTensor().is_cuda())
      device = value.toTensor().device();
  Translation translation(device);
  for (const ArgumentFact &fact : facts.arguments)
    if (c10::IValue &value = arguments[fact.position]; value.isTensor())
      value = translation.toCpu(std::move(value).toTensor());
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
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

MixedDevices checkMixedDevices(const c10::OperatorHandle &op, const OperatorFacts &facts,
                               torch::jit::Stack *stack) {
  Operands operands = operandsOf(op, facts, *stack);
  if (OwnCheck check = ownCheck(facts)) {
    if (!check(facts, operands, stack->data() + stack->size() - facts.argument_count))
      return MixedDevices::kAccepted;
    runOnHost(op, facts, stack);
    return MixedDevices::kRanOnHost;
  }
  if (facts.check == DeviceCheck::kExactSame) {
    checkExactSame(facts, operands);
    return MixedDevices::kAccepted;
  }
  if (facts.check == DeviceCheck::kNone && !facts.structured)
    return MixedDevices::kAccepted;
  checkIndices(facts, operands);
  // TensorIterator itself decides, so that each operator's own rule on CPU scalars holds, and shape
  // errors come before device errors.
  if (facts.structured && op.hasKernelForDispatchKey(kDefaultKernel)) {
    runAndReport(op, facts, operands, kDefaultKernel, stack);
    return MixedDevices::kRan;
  }
  checkIterator(facts, operands, facts.structured ? 1 : 0);
  return MixedDevices::kAccepted;
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
