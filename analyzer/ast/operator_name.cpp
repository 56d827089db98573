#include "analyzer/ast/operator_name.h"

#include "analyzer/ast/cuda_api.h"
#include "analyzer/ast/torch_api.h"

#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

bool isTensorClass(const CXXRecordDecl *record) {
  return record && (record->getName() == "Tensor" || record->getName() == "TensorBase");
}

// The operators that C++'s own stand for. Indexing and assignment depend on their operands.
llvm::StringRef spelledOut(OverloadedOperatorKind kind, unsigned operands) {
  switch (kind) {
  case OO_Plus:
    return "add";
  case OO_Minus:
    return operands == 1 ? "neg" : "sub";
  case OO_Star:
    return "mul";
  case OO_Slash:
    return "div";
  case OO_Percent:
    return "remainder";
  case OO_Amp:
    return "bitwise_and";
  case OO_Pipe:
    return "bitwise_or";
  case OO_Caret:
    return "bitwise_xor";
  case OO_Tilde:
    return "bitwise_not";
  case OO_PlusEqual:
    return "add_";
  case OO_MinusEqual:
    return "sub_";
  case OO_StarEqual:
    return "mul_";
  case OO_SlashEqual:
    return "div_";
  case OO_EqualEqual:
    return "eq";
  case OO_ExclaimEqual:
    return "ne";
  case OO_Less:
    return "lt";
  case OO_LessEqual:
    return "le";
  case OO_Greater:
    return "gt";
  case OO_GreaterEqual:
    return "ge";
  default:
    return "";
  }
}

// The operator behind a function or method of ATen's: cuda() is to(), tensor() fills a tensor on
// the host and moves it.
llvm::StringRef operatorBehind(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases({"cuda", "cpu", "hip", "ve", "toType", "toBackend", "tensor"}, "to")
      .Cases({"from_blob", "data_ptr", "mutable_data_ptr", "const_data_ptr"}, "")
      .Default(name);
}

// torch::linalg::solve is linalg_solve.
std::optional<llvm::StringRef> prefixOf(const FunctionDecl *function) {
  llvm::SmallVector<llvm::StringRef, 4> names;
  for (const DeclContext *context = function->getDeclContext(); context;
       context = context->getParent())
    if (const auto *space = dyn_cast<NamespaceDecl>(context); space && !space->isInline())
      names.push_back(space->getName());
  if (names.size() == 1 && (names[0] == "at" || names[0] == "torch"))
    return "";
  if (names.size() == 2 && names[1] == "torch")
    return llvm::StringSwitch<std::optional<llvm::StringRef>>(names[0])
        .Case("linalg", "linalg_")
        .Case("fft", "fft_")
        .Case("special", "special_")
        .Default(std::nullopt);
  return std::nullopt;
}

// As a demangler spells it, without arguments of templates.
std::string qualifiedName(const FunctionDecl *function) {
  std::string name = function->getDeclName().getAsString();
  for (const DeclContext *context = function->getDeclContext(); context;
       context = context->getParent())
    if (const auto *space = dyn_cast<NamespaceDecl>(context))
      name = (space->isAnonymousNamespace() ? "(anonymous namespace)" : space->getName().str()) +
             "::" + name;
    else if (const auto *record = dyn_cast<RecordDecl>(context))
      name = record->getNameAsString() + "::" + name;
  return name;
}

std::string atenName(llvm::StringRef prefix, llvm::StringRef name) {
  return name.empty() ? std::string() : ("aten::" + prefix + name).str();
}

// The function of CUDA's runtime that one of LibTorch's own calls; empty for others.
llvm::StringRef waitBehind(llvm::StringRef qualified_name) {
  return llvm::StringSwitch<llvm::StringRef>(qualified_name)
      .Cases({"torch::cuda::synchronize", "c10::cuda::device_synchronize"}, "cudaDeviceSynchronize")
      .Cases({"c10::cuda::CUDAStream::synchronize", "c10::cuda::stream_synchronize"},
             "cudaStreamSynchronize")
      .Case("at::cuda::CUDAEvent::synchronize", "cudaEventSynchronize")
      .Default("");
}

} // namespace

std::string operatorName(const Expr *expr) {
  const auto *call = expr ? dyn_cast<CallExpr>(strip(expr)) : nullptr;
  const FunctionDecl *callee = call ? calledFunction(call) : nullptr;
  if (!callee || callee->getDeclName().isEmpty())
    return {};
  if (!isTorchDecl(callee))
    return qualifiedName(callee);
  const CXXRecordDecl *owner = ownerOf(callee);
  const std::optional<llvm::StringRef> prefix =
      isTensorClass(owner) ? llvm::StringRef() : prefixOf(callee);
  if (callee->isOverloadedOperator()) {
    if (callee->getOverloadedOperator() == OO_LessLess)
      return "print";
    return prefix && (!owner || isTensorClass(owner))
               ? atenName("", spelledOut(callee->getOverloadedOperator(), call->getNumArgs()))
               : std::string();
  }
  const llvm::StringRef name = nameOf(callee);
  if (name == "clip_grad_norm_") // reads the norm
    return "aten::item";
  if (prefix && (!owner || isTensorClass(owner)))
    return atenName(*prefix, operatorBehind(name));
  const std::string qualified = qualifiedName(callee);
  const llvm::StringRef wait = waitBehind(qualified);
  return wait.empty() ? qualified : wait.str();
}

} // namespace devsan::analyzer
