#include "dtype_rules.h"

#include <algorithm>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <c10/core/ScalarType.h>

namespace devsan::sim {

struct DtypeRule {
  std::string_view op;   // with what its overloads begin with, where not all are concerned
  std::uint64_t refused; // bit per ScalarType
  // The name that CUDA's kernel gives in its error (its AT_DISPATCH name).
  std::string_view kernel;
  std::string (*message)(const DtypeRule &, at::ScalarType);
  bool (*applies)(const c10::IValue *arguments);
};

namespace {

constexpr std::uint64_t bits(std::initializer_list<at::ScalarType> dtypes) {
  std::uint64_t set = 0;
  for (at::ScalarType dtype : dtypes)
    set |= std::uint64_t{1} << static_cast<unsigned>(dtype);
  return set;
}

constexpr std::uint64_t kBool = bits({at::kBool});
constexpr std::uint64_t kByte = bits({at::kByte});
constexpr std::uint64_t kIntegral = bits({at::kByte, at::kChar, at::kShort, at::kInt, at::kLong});
constexpr std::uint64_t kComplex = bits({at::kComplexHalf, at::kComplexFloat, at::kComplexDouble});
constexpr std::uint64_t kReduced = bits({at::kHalf, at::kBFloat16});

std::string notImplemented(const DtypeRule &rule, at::ScalarType dtype) {
  return c10::str('"', rule.kernel, "\" not implemented for '", c10::toString(dtype), "'");
}

std::string noCudnnType(const DtypeRule &, at::ScalarType dtype) {
  return c10::str("getCudnnDataTypeFromScalarType() not supported for ", c10::toString(dtype));
}

bool always(const c10::IValue *) {
  return true;
}

// Operands of different dtypes are refused before, in words that the CPU's code shares.
template <std::size_t count> bool isOneDtype(const c10::IValue *arguments) {
  return std::all_of(arguments + 1, arguments + count, [&](const c10::IValue &one) {
    return one.toTensor().scalar_type() == arguments[0].toTensor().scalar_type();
  });
}

constexpr std::size_t kReduce = 4; // of scatter's arguments

// A sum is a scatter_add, which CUDA has for bool and complex numbers.
bool reducesOtherThanSum(const c10::IValue *arguments) {
  return arguments[kReduce].toStringView() != "sum";
}
bool multiplies(const c10::IValue *arguments) {
  return arguments[kReduce].toStringView() == "multiply";
}

constexpr DtypeRule kRules[] = {
    {"mm", kIntegral | kBool, "addmm_cuda", &notImplemented, &isOneDtype<2>},
    {"addmm", kIntegral | kBool, "addmm_cuda", &notImplemented, &isOneDtype<3>},
    {"addbmm", kIntegral | kBool, "addmm_cuda", &notImplemented, &always},
    {"_addmm_activation", kIntegral | kBool, "addmm_cuda", &notImplemented, &always},
    {"addmv", kIntegral | kBool, "addmv_impl_cuda", &notImplemented, &always},
    {"bmm", kIntegral | kBool, "baddbmm_cuda", &notImplemented, &isOneDtype<2>},
    {"baddbmm", kIntegral | kBool, "baddbmm_cuda", &notImplemented, &isOneDtype<3>},
    {"dot", kIntegral | kBool, "dot", &notImplemented, &always},
    {"vdot", kIntegral | kBool, "vdot", &notImplemented, &always},
    {"convolution", bits({at::kLong}), "", &noCudnnType, &always},
    {"avg_pool2d", kIntegral, "avg_pool2d_out_cuda_frame", &notImplemented, &always},
    {"avg_pool3d", kIntegral, "avg_pool3d_out_cuda", &notImplemented, &always},
    {"max_pool2d_with_indices", kIntegral, "max_pool2d_with_indices_out_cuda_frame",
     &notImplemented, &always},
    {"max_pool3d_with_indices", kIntegral, "max_pool3d_with_indices_out_frame", &notImplemented,
     &always},
    {"upsample_bilinear2d", kByte, "upsample_bilinear2d_out_frame", &notImplemented, &always},
    {"_upsample_bilinear2d_aa", kByte, "upsample_bilinear2d_out_frame", &notImplemented, &always},
    {"upsample_bicubic2d", kByte, "upsample_bicubic2d_out_frame", &notImplemented, &always},
    {"_upsample_bicubic2d_aa", kByte, "upsample_bicubic2d_out_frame", &notImplemented, &always},
    {"igamma", kReduced, "igamma_cuda", &notImplemented, &always},
    {"igammac", kReduced, "igammac_cuda", &notImplemented, &always},
    {"angle", kReduced, "angle_cuda", &notImplemented, &always},
    {"native_dropout_backward", kIntegral | kBool, "masked_scale", &notImplemented, &always},
    {"scatter_reduce", kBool | kComplex, "cuda_scatter_gather_base_kernel_func", &notImplemented,
     &reducesOtherThanSum},
    {"scatter.reduce", kBool | kComplex, "cuda_scatter_gather_base_kernel_func", &notImplemented,
     &multiplies},
    {"scatter.value_reduce", kBool | kComplex, "cuda_scatter_fill_base_kernel_reduce_multiply",
     &notImplemented, &multiplies},
};

// Kernels return before they look at the dtype where there is nothing to compute.
bool anyEmpty(const OperatorFacts &facts, const c10::IValue *arguments) {
  for (const ArgumentFact &fact : facts.arguments)
    if (const c10::IValue &value = arguments[fact.position];
        value.isTensor() && value.toTensor().defined() && value.toTensor().numel() == 0 &&
        !fact.is_written)
      return true;
  return false;
}

struct WiderRule {
  std::string_view op; // and its overloads, backward and in-place forms
  TensorKind kind;
  std::uint64_t dtypes;
};
constexpr WiderRule kWiderRules[] = {
    {"avg_pool3d", TensorKind::kDense, kReduced},
    {"_upsample_bicubic2d_aa", TensorKind::kDense, kReduced},
    {"_upsample_bilinear2d_aa", TensorKind::kDense, kReduced},
    {"abs", TensorKind::kDense, kBool},
    {"rrelu_with_noise", TensorKind::kDense, bits({at::kHalf})},
    // The CPU's kernels have 16 bits in between, and are up to 80 times slower.
    {"_addmm_activation", TensorKind::kDense, kReduced},
    {"addbmm", TensorKind::kDense, kReduced},
    {"addmm", TensorKind::kDense, kReduced},
    {"addmv", TensorKind::kDense, kReduced},
    {"baddbmm", TensorKind::kDense, kReduced},
    {"bmm", TensorKind::kDense, kReduced},
    {"convolution", TensorKind::kDense, kReduced},
    {"mm", TensorKind::kDense, kReduced},
    {"grid_sampler_2d", TensorKind::kDense, kReduced},
    {"grid_sampler_3d", TensorKind::kDense, kReduced},
    {"native_batch_norm", TensorKind::kDense, kReduced},
    {"_native_batch_norm_legit", TensorKind::kDense, kReduced},
    {"multi_margin_loss", TensorKind::kDense, kReduced},
    {"multilabel_margin_loss", TensorKind::kDense, kReduced},
    {"add", TensorKind::kSparse, bits({at::kHalf, at::kBool})},
    {"sub", TensorKind::kSparse, bits({at::kHalf})},
    {"mul", TensorKind::kSparse, bits({at::kBool})},
};

} // namespace

std::uint64_t dtypesComputedWider(std::string_view op, TensorKind kind) {
  constexpr std::string_view kNamespace = "aten::";
  if (!op.starts_with(kNamespace))
    return 0;
  op.remove_prefix(kNamespace.size());
  for (const WiderRule &rule : kWiderRules) {
    if (rule.kind != kind || !op.starts_with(rule.op))
      continue;
    const std::string_view form = op.substr(rule.op.size());
    if (form.empty() || form == "_" || form == "_forward" || form == "_backward")
      return rule.dtypes;
  }
  return 0;
}

WiderCall::WiderCall(const OperatorFacts &facts, TensorKind kind, c10::IValue *arguments) {
  const std::uint64_t dtypes = facts.wider_dtypes[static_cast<std::size_t>(kind)];
  const auto isNarrow = [&](const at::Tensor &tensor) {
    return (dtypes >> static_cast<unsigned>(tensor.scalar_type()) & 1) != 0;
  };
  for (const ArgumentFact &fact : facts.arguments)
    if (const c10::IValue &value = arguments[fact.position];
        value.isTensor() && value.toTensor().defined() && value.toTensor().is_floating_point() &&
        !isNarrow(value.toTensor()))
      return; // kernels for several dtypes compute in the widest
  for (const ArgumentFact &fact : facts.arguments) {
    c10::IValue &value = arguments[fact.position];
    if (!value.isTensor() || !value.toTensor().defined())
      continue;
    const at::Tensor &narrow = value.toTensor();
    if (!isNarrow(narrow))
      continue;
    dtype_ = narrow.scalar_type();
    replaced_.push_back({narrow, narrow.to(at::kFloat), fact.is_changed});
    value = replaced_.back().wide;
  }
}

void WiderCall::finish(const OperatorFacts &facts, c10::IValue *results) const {
  // It is the kernel that writes, whatever mode the tensor was made in.
  const at::AutoDispatchBelowADInplaceOrView below;
  for (const Replaced &one : replaced_) {
    if (!one.is_changed)
      continue;
    if (one.wide.layout() == at::kStrided)
      at::native::resize_output(one.narrow, one.wide.sizes());
    one.narrow.copy_(one.wide);
  }
  for (std::uint16_t i = 0; dtype_ && i < facts.return_count; ++i) {
    const at::Tensor wide = results[i].toTensor();
    const auto *same = std::ranges::find_if(
        replaced_, [&](const Replaced &one) { return one.wide.is_same(wide); });
    if (same != replaced_.end())
      results[i] = same->narrow;
    else if (wide.scalar_type() == at::kFloat)
      results[i] = wide.to(*dtype_);
  }
}

const DtypeRule *dtypeRule(const c10::OperatorName &op) {
  constexpr std::string_view kNamespace = "aten::";
  std::string_view name = op.name;
  if (!name.starts_with(kNamespace))
    return nullptr;
  name.remove_prefix(kNamespace.size());
  const std::string_view functional = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
  for (const DtypeRule &rule : kRules) {
    const std::size_t dot = std::min(rule.op.find('.'), rule.op.size());
    const std::string_view of = rule.op.substr(0, dot);
    if ((of == name || of == functional) &&
        op.overload_name.starts_with(rule.op.substr(std::min(dot + 1, rule.op.size()))))
      return &rule;
  }
  return nullptr;
}

void checkDtype(const DtypeRule &rule, const OperatorFacts &facts, const c10::IValue *arguments) {
  const at::Tensor &first = arguments[facts.arguments.front().position].toTensor();
  at::ScalarType dtype = first.scalar_type();
  if (C10_LIKELY(!(rule.refused >> static_cast<unsigned>(dtype) & 1)))
    return;
  if (!rule.applies(arguments) || anyEmpty(facts, arguments))
    return;
  std::string message = rule.message(rule, dtype);
  TORCH_CHECK_NOT_IMPLEMENTED(rule.message != &notImplemented, message);
  TORCH_CHECK(false, message);
}

} // namespace devsan::sim
