#include "operator_facts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include <ATen/core/enum_tag.h>

#include "dtype_rules.h"

namespace devsan::sim {
namespace {

bool isWritten(const c10::Argument &argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

const CudaOperator *findCudaOperator(const c10::OperatorName &name) {
  constexpr std::string_view kNamespace = "aten::";
  if (name.name.compare(0, kNamespace.size(), kNamespace) != 0)
    return nullptr;
  std::string qualified = name.name.substr(kNamespace.size());
  if (!name.overload_name.empty())
    qualified += "." + name.overload_name;
  auto found = std::lower_bound(
      cudaOperators().begin(), cudaOperators().end(), std::string_view(qualified),
      [](const CudaOperator &op, std::string_view wanted) { return op.name < wanted; });
  return found != cudaOperators().end() && found->name == qualified ? found : nullptr;
}

// Libraries whose CPU packages leave out CUDA kernels that their CUDA packages have for the same
// operators: the CPU kernel stands in. An operator of any other library that has no kernel for CUDA
// and no composite one fails on a GPU too. DEVSAN_SIM_LIBRARIES names more, separated by commas.
constexpr std::string_view kLibrariesWithCudaKernels[] = {
    "aten",          "torchvision",       "torchaudio", "torch_scatter", "torch_sparse",
    "torch_cluster", "torch_spline_conv", "pyg",        "fbgemm",        "devsan_sim"};

bool listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name)
      return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

bool hasCudaKernelsElsewhere(std::string_view op) {
  std::string_view library = op.substr(0, op.find("::"));
  if (std::ranges::find(kLibrariesWithCudaKernels, library) != std::end(kLibrariesWithCudaKernels))
    return true;
  const char *more = std::getenv("DEVSAN_SIM_LIBRARIES");
  return more != nullptr && listed(more, library);
}

// Arguments that ATen's CUDA kernels take from the CPU although their operator checks devices
// otherwise: index kernels move CPU indices to the tensor's device, lengths and shapes are read
// there.
struct HostArgument {
  std::string_view op;
  std::string_view argument;
};
constexpr HostArgument kHostArguments[] = {
    {"aten::index", "indices"},
    {"aten::index_put_", "indices"},
    {"aten::index_put", "indices"},
    {"aten::_index_put_impl_", "indices"},
    {"aten::_nested_view_from_buffer", "nested_size"},
    {"aten::_nested_view_from_buffer", "nested_strides"},
    {"aten::_nested_view_from_buffer", "offsets"},
};

bool staysOnCpu(std::string_view op, std::string_view argument) {
  return std::any_of(
      std::begin(kHostArguments), std::end(kHostArguments),
      [&](const HostArgument &host) { return host.op == op && host.argument == argument; });
}

std::optional<ArgumentKind> kindOf(const c10::Type &type) {
  if (type.kind() == c10::TypeKind::OptionalType) {
    const c10::Type &element = *type.castRaw<c10::OptionalType>()->getElementType();
    return kindOf(element);
  }
  switch (type.kind()) {
  case c10::TypeKind::TensorType:
    return ArgumentKind::kTensor;
  case c10::TypeKind::StorageType:
    return ArgumentKind::kStorage;
  case c10::TypeKind::GeneratorType:
    return ArgumentKind::kGenerator;
  case c10::TypeKind::DeviceObjType:
    return ArgumentKind::kDevice;
  case c10::TypeKind::ListType: {
    const c10::Type &element = *type.castRaw<c10::ListType>()->getElementType();
    if (element.kind() == c10::TypeKind::TensorType)
      return ArgumentKind::kTensorList;
    if (element.kind() == c10::TypeKind::OptionalType &&
        element.castRaw<c10::OptionalType>()->getElementType()->kind() == c10::TypeKind::TensorType)
      return ArgumentKind::kOptionalTensorList;
    return std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

bool holdsTensors(ArgumentKind kind) {
  return kind == ArgumentKind::kTensor || kind == ArgumentKind::kTensorList ||
         kind == ArgumentKind::kOptionalTensorList;
}

std::string wrapperName(const c10::OperatorName &name, bool is_out, bool structured) {
  std::string_view base(name.name);
  base.remove_prefix(base.find("::") + 2);
  std::string op(base);
  if (is_out)
    op += "_out";
  if (structured)
    return "wrapper_CUDA_" + op + (name.overload_name.empty() ? "" : "_" + name.overload_name);
  return "wrapper_CUDA_" + name.overload_name + "_" + op;
}

OperatorFacts *readFacts(const c10::OperatorHandle &op) {
  const c10::FunctionSchema &schema = op.schema();
  auto *facts = new OperatorFacts{&op.operator_name(),
                                  op.operator_name(),
                                  {},
                                  {},
                                  0,
                                  0,
                                  DeviceCheck::kNone,
                                  false,
                                  false,
                                  false,
                                  false,
                                  false,
                                  0,
                                  nullptr,
                                  {},
                                  0,
                                  0,
                                  {}};
  facts->argument_count = static_cast<std::uint16_t>(schema.arguments().size());
  facts->return_count = static_cast<std::uint16_t>(schema.returns().size());
  facts->mutates = schema.is_mutable();

  bool is_out = false;
  c10::SmallVector<std::uint16_t, 4> outs, inputs;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument &argument = schema.arguments()[i];
    std::optional<ArgumentKind> kind = kindOf(*argument.type());
    if (!kind)
      continue;
    auto index = static_cast<std::uint16_t>(facts->arguments.size());
    facts->arguments.push_back({*kind, static_cast<std::uint16_t>(i),
                                staysOnCpu(facts->name.name, argument.name()), isWritten(argument),
                                isChanged(argument)});
    facts->has_generator |= *kind == ArgumentKind::kGenerator;
    is_out |= argument.is_out();
    if (holdsTensors(*kind))
      (argument.is_out() ? outs : inputs).push_back(index);
  }
  facts->check_order.append(outs.begin(), outs.end());
  facts->check_order.append(inputs.begin(), inputs.end());
  facts->draws_implicitly = !facts->has_generator && op.hasTag(at::Tag::nondeterministic_seeded);

  const CudaOperator *cuda = findCudaOperator(facts->name);
  facts->known_to_aten = cuda != nullptr;
  facts->structured = cuda && cuda->structured;
  if (cuda)
    facts->alerts = alertsOf(schema, cuda->alerts);
  facts->dtype_rule = cuda ? dtypeRule(facts->name) : nullptr;
  // ATen's generated variants are not listed, and are there.
  const bool has_cuda_kernels = op.hasKernelForDispatchKey(c10::DispatchKey::CUDA) ||
                                hasCudaKernelsElsewhere(facts->name.name);
  facts->cuda_kernels = cuda ? cuda->cuda_kernels : (has_cuda_kernels ? 0xff : 0);
  // Operators of other libraries have no generated wrapper: what they check is their own affair.
  facts->check = cuda ? cuda->check : DeviceCheck::kNone;
  constexpr runtime::Layouts kLayoutOfKind[] = {runtime::kDense, runtime::kSparse,
                                                runtime::kSparseCompressed, runtime::kQuantized,
                                                runtime::kNested};
  for (std::size_t kind = 0; kind < facts->wider_dtypes.size(); ++kind)
    facts->wider_dtypes[kind] =
        dtypesComputedWider(facts->name.name, static_cast<TensorKind>(kind));
  for (std::size_t kind = 0; kind < facts->effects.size(); ++kind)
    facts->effects[kind] =
        runtime::findEffect(facts->name.name, facts->name.overload_name, kLayoutOfKind[kind]);
  facts->wrapper_name = wrapperName(facts->name, is_out, cuda && cuda->structured);
  return facts;
}

// Open addressing over the address of the operator's name, which is stable while the operator is
// registered. Entries are never freed: another thread may be reading one.
constexpr std::size_t kSlots = 1u << 14;
std::array<std::atomic<const OperatorFacts *>, kSlots> slots;
std::mutex insertion;

// An operator library that was unloaded may have left its address to another operator; ATen's own
// never are.
bool describes(const OperatorFacts &facts, const c10::OperatorHandle &op) {
  return facts.key == &op.operator_name() &&
         (C10_LIKELY(facts.known_to_aten) ||
          (facts.name == op.operator_name() &&
           facts.argument_count == op.schema().arguments().size() &&
           facts.return_count == op.schema().returns().size()));
}

const OperatorFacts &insertFacts(const c10::OperatorHandle &op, std::size_t slot) {
  std::lock_guard lock(insertion);
  const void *key = &op.operator_name();
  for (std::size_t tried = 0; tried < kSlots; ++tried, slot = (slot + 1) % kSlots) {
    const OperatorFacts *there = slots[slot].load(std::memory_order_acquire);
    if (there != nullptr && describes(*there, op))
      return *there;
    if (there == nullptr || there->key == key) {
      const OperatorFacts *facts = readFacts(op);
      slots[slot].store(facts, std::memory_order_release);
      return *facts;
    }
  }
  TORCH_CHECK(false, "not simulated: more than ", kSlots, " operators in one process");
}

} // namespace

bool isChanged(const c10::Argument &argument) {
  return isWritten(argument) || argument.name() == "running_mean" ||
         argument.name() == "running_var";
}

c10::ArrayRef<CudaOperator> cudaOperators() {
  static constexpr CudaOperator kOperators[] = {
#include "cuda_operators.inc"
  };
  return kOperators;
}

const OperatorFacts &operatorFacts(const c10::OperatorHandle &op) {
  const c10::OperatorName *key = &op.operator_name();
  std::size_t home = (reinterpret_cast<std::uintptr_t>(key) >> 4) * 0x9E3779B97F4A7C15ull >> 50;
  for (std::size_t slot = home;; slot = (slot + 1) % kSlots) {
    const OperatorFacts *facts = slots[slot].load(std::memory_order_acquire);
    if (C10_UNLIKELY(facts == nullptr))
      return insertFacts(op, home);
    if (facts->key == key)
      return C10_LIKELY(describes(*facts, op)) ? *facts : insertFacts(op, home);
  }
}

} // namespace devsan::sim
