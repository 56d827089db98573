#include "analyzer/ast/torch_api.h"

#include "analyzer/ast/cuda_api.h"
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

QualType bare(QualType type) {
  if (type.isNull())
    return type;
  type = type.getNonReferenceType();
  while (type->isPointerType())
    type = type->getPointeeType();
  return type.getCanonicalType().getUnqualifiedType();
}

const NamedDecl *namedDecl(QualType type) {
  type = bare(type);
  if (type.isNull())
    return nullptr;
  if (const TagDecl *tag = type->getAsTagDecl())
    return tag;
  if (const auto *specialization = type->getAs<TemplateSpecializationType>())
    return specialization->getTemplateName().getAsTemplateDecl();
  return nullptr;
}

llvm::StringRef simpleName(const NamedDecl *decl) {
  return decl && decl->getDeclName().isIdentifier() ? decl->getName() : llvm::StringRef();
}

// The namespaces around a declaration, outermost first, without inline and anonymous ones:
// "torch::nn".
std::string namespaceOf(const Decl *decl) {
  llvm::SmallVector<llvm::StringRef, 4> names;
  for (const DeclContext *context = decl->getDeclContext(); context; context = context->getParent())
    if (const auto *space = dyn_cast<NamespaceDecl>(context);
        space && !space->isInline() && !space->isAnonymousNamespace())
      names.push_back(space->getName());
  std::string joined;
  for (llvm::StringRef name : llvm::reverse(names))
    joined += (joined.empty() ? "" : "::") + name.str();
  return joined;
}

bool isNamed(QualType type, llvm::StringRef space, llvm::StringRef name) {
  const NamedDecl *decl = namedDecl(type);
  return simpleName(decl) == name && namespaceOf(decl) == space;
}

llvm::ArrayRef<TemplateArgument> templateArguments(QualType type) {
  type = bare(type);
  if (type.isNull())
    return {};
  if (const auto *record =
          dyn_cast_or_null<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl()))
    return record->getTemplateArgs().asArray();
  if (const auto *specialization = type->getAs<TemplateSpecializationType>())
    return specialization->template_arguments();
  return {};
}

bool anyTemplateArgument(QualType type, int depth, llvm::function_ref<bool(QualType, int)> test) {
  if (depth > 4)
    return false;
  for (const TemplateArgument &argument : templateArguments(type)) {
    if (argument.getKind() == TemplateArgument::Type && test(argument.getAsType(), depth + 1))
      return true;
    if (argument.getKind() == TemplateArgument::Pack)
      for (const TemplateArgument &packed : argument.pack_elements())
        if (packed.getKind() == TemplateArgument::Type && test(packed.getAsType(), depth + 1))
          return true;
  }
  return false;
}

bool holdsTensorAt(QualType type, int depth) {
  if (isTensor(type) || isNamed(type, "at::indexing", "TensorIndex"))
    return true;
  const NamedDecl *decl = namedDecl(type);
  // A function object or a hash table keyed by tensors' types holds no data of theirs.
  if (simpleName(decl) == "function")
    return false;
  return anyTemplateArgument(type, depth, holdsTensorAt);
}

// Where LibTorch's headers lie, however the compiler was told: "…/include/" of the file
// "…/include/ATen/core/TensorBody.h" that has at::Tensor. A file that lies otherwise is itself what
// there is of LibTorch.
llvm::StringRef torchFolder(ASTContext &context) {
  const DeclContext *unit = context.getTranslationUnitDecl();
  for (const NamedDecl *space : unit->lookup(&context.Idents.get("at"))) {
    const auto *at = dyn_cast<NamespaceDecl>(space);
    if (!at)
      continue;
    for (const NamedDecl *tensor : at->lookup(&context.Idents.get("Tensor")))
      if (const auto *record = dyn_cast<CXXRecordDecl>(tensor); record && record->hasDefinition()) {
        const llvm::StringRef file =
            context.getSourceManager().getFilename(record->getDefinition()->getLocation());
        const std::size_t folder = file.rfind("ATen/core/");
        return folder == llvm::StringRef::npos ? file : file.take_front(folder);
      }
  }
  return {};
}

bool derivesFrom(const CXXRecordDecl *record,
                 llvm::function_ref<bool(const CXXRecordDecl *)> test) {
  if (!record)
    return false;
  if (test(record))
    return true;
  if (!record->hasDefinition())
    return false;
  for (const CXXBaseSpecifier &base : record->getDefinition()->bases())
    if (derivesFrom(base.getType()->getAsCXXRecordDecl(), test))
      return true;
  return false;
}

} // namespace

bool isInLibraryFile(const Decl *decl) {
  ASTContext &context = decl->getASTContext();
  const SourceManager &sources = context.getSourceManager();
  const SourceLocation place = sources.getExpansionLoc(decl->getLocation());
  if (place.isInvalid() || sources.isInSystemHeader(place))
    return true;
  const llvm::StringRef root = torchFolder(context);
  return !root.empty() && sources.getFilename(place).starts_with(root);
}

bool isTensor(QualType type) {
  return isNamed(type, "at", "Tensor") || isNamed(type, "at", "TensorBase") || isStableTensor(type);
}
bool isStableTensor(QualType type) {
  return isNamed(type, "torch::stable", "Tensor");
}
bool isDevice(QualType type) {
  return isNamed(type, "c10", "Device");
}
bool isDeviceType(QualType type) {
  return isNamed(type, "c10", "DeviceType");
}
bool isTensorOptions(QualType type) {
  return isNamed(type, "c10", "TensorOptions");
}
bool isScalarType(QualType type) {
  return isNamed(type, "c10", "ScalarType");
}
bool holdsTensor(QualType type) {
  return holdsTensorAt(type, 0);
}

bool isAutogradFunction(const CXXRecordDecl *record) {
  return record && record->hasDefinition() &&
         llvm::any_of(record->getDefinition()->bases(), [](const CXXBaseSpecifier &base) {
           return isNamed(base.getType(), "torch::autograd", "Function");
         });
}

bool isExample(const CXXRecordDecl *record) {
  return record && simpleName(record) == "Example" && namespaceOf(record) == "torch::data";
}

bool namesDevice(QualType type) {
  if (isDevice(type) || isDeviceType(type) || isTensorOptions(type))
    return true;
  return isNamed(type, "std", "optional") &&
         anyTemplateArgument(type, 0, [](QualType argument, int) {
           return isDevice(argument) || isDeviceType(argument);
         });
}

bool namesNoDevice(QualType type) {
  return isTensorOptions(type) || isScalarType(type) || isNamed(type, "c10", "Layout") ||
         isNamed(type, "c10", "MemoryFormat") || isNamed(type, "caffe2", "TypeMeta") ||
         isNamed(type, "std", "nullopt_t") || isNamed(type, "std", "in_place_t");
}

bool derivesFromModule(const CXXRecordDecl *record) {
  return derivesFrom(record, [](const CXXRecordDecl *base) {
    return simpleName(base) == "Module" && namespaceOf(base) == "torch::nn";
  });
}

const CXXRecordDecl *moduleClass(QualType type) {
  type = bare(type);
  if (type.isNull())
    return nullptr;
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  if (!record)
    return nullptr;
  if (derivesFromModule(record))
    return record;
  llvm::StringRef name = simpleName(record);
  if (name == "Module" && llvm::StringRef(namespaceOf(record)).starts_with("torch::jit"))
    return record;
  const CXXRecordDecl *found = nullptr;
  if (name == "shared_ptr" || name == "unique_ptr")
    for (const TemplateArgument &argument : templateArguments(type))
      if (argument.getKind() == TemplateArgument::Type && !found)
        if (const CXXRecordDecl *pointee = argument.getAsType()->getAsCXXRecordDecl();
            derivesFromModule(pointee))
          found = pointee;
  if (found)
    return found;
  derivesFrom(record, [&](const CXXRecordDecl *base) {
    const auto *holder = dyn_cast<ClassTemplateSpecializationDecl>(base);
    if (!holder || simpleName(holder) != "ModuleHolder" || namespaceOf(holder) != "torch::nn")
      return false;
    const TemplateArgument &argument = holder->getTemplateArgs()[0];
    if (argument.getKind() == TemplateArgument::Type)
      found = argument.getAsType()->getAsCXXRecordDecl();
    return found != nullptr;
  });
  return found;
}

bool isModule(QualType type) {
  return moduleClass(type) != nullptr;
}

bool isModuleContainer(const CXXRecordDecl *record) {
  static const llvm::StringSet<> kContainers{"SequentialImpl", "ModuleListImpl", "ModuleDictImpl"};
  return derivesFrom(record, [](const CXXRecordDecl *base) {
    return kContainers.contains(simpleName(base)) && namespaceOf(base) == "torch::nn";
  });
}

bool isDeviceGuard(QualType type) {
  static const llvm::StringSet<> kGuards{"DeviceGuard",
                                         "OptionalDeviceGuard",
                                         "CUDAGuard",
                                         "OptionalCUDAGuard",
                                         "CUDAStreamGuard",
                                         "OptionalCUDAStreamGuard",
                                         "InlineDeviceGuard",
                                         "InlineOptionalDeviceGuard",
                                         "StreamGuard",
                                         "OptionalStreamGuard",
                                         "HIPGuardMasqueradingAsCUDA",
                                         "OptionalHIPGuardMasqueradingAsCUDA"};
  const NamedDecl *decl = namedDecl(type);
  if (!decl || !kGuards.contains(simpleName(decl)))
    return false;
  const std::string space = namespaceOf(decl);
  return llvm::StringRef(space).starts_with("c10") || space == "torch::stable::accelerator";
}

bool isNoGradGuard(QualType type) {
  const NamedDecl *decl = namedDecl(type);
  llvm::StringRef name = simpleName(decl);
  return (name == "NoGradGuard" || name == "InferenceMode" || name == "AutoGradMode") &&
         namespaceOf(decl) == "c10";
}

bool isAllowSync(QualType type) {
  const auto *alias = type.isNull() ? nullptr : type->getAs<TypedefType>();
  const NamedDecl *decl = alias ? alias->getDecl() : namedDecl(type);
  return simpleName(decl) == "AllowSync" && namespaceOf(decl) == "devsan";
}

bool isProcessGroup(QualType type) {
  type = bare(type);
  if (type.isNull())
    return false;
  auto is_group = [](const CXXRecordDecl *base) {
    llvm::StringRef name = simpleName(base);
    return (name == "ProcessGroup" || name == "Backend") && namespaceOf(base) == "c10d";
  };
  if (derivesFrom(type->getAsCXXRecordDecl(), is_group))
    return true;
  return anyTemplateArgument(type, 3, [&](QualType argument, int) {
    return derivesFrom(argument->getAsCXXRecordDecl(), is_group);
  });
}

// A project may declare again what LibTorch has: what LibTorch defines, or declares as well, is
// LibTorch's.
static bool isOfLibrary(const Decl *decl) {
  if (const auto *written = dyn_cast<TemplateDecl>(decl); written && written->getTemplatedDecl())
    decl = written->getTemplatedDecl();
  if (const auto *specialization = dyn_cast<ClassTemplateSpecializationDecl>(decl))
    decl = specialization->getSpecializedTemplate()->getTemplatedDecl();
  if (const auto *function = dyn_cast<FunctionDecl>(decl);
      function && function->getPrimaryTemplate() &&
      function->getTemplateSpecializationKind() == TSK_ImplicitInstantiation)
    decl = function->getPrimaryTemplate()->getTemplatedDecl();
  if (const auto *tag = dyn_cast<TagDecl>(decl); tag && tag->getDefinition())
    return isInLibraryFile(tag->getDefinition());
  return llvm::any_of(decl->redecls(), isInLibraryFile);
}

bool isTorchDecl(const Decl *decl) {
  static const llvm::StringSet<> kNamespaces{"at", "c10", "torch", "c10d", "caffe2"};
  std::string space = namespaceOf(decl);
  return kNamespaces.contains(llvm::StringRef(space).split(':').first) && isOfLibrary(decl);
}

bool isLibraryDecl(const Decl *decl) {
  const std::string space = namespaceOf(decl);
  const llvm::StringRef outermost = llvm::StringRef(space).split(':').first;
  // libstdc++ has the iterators of its containers elsewhere.
  return outermost == "std" || outermost == "__gnu_cxx" || isTorchDecl(decl);
}

const CXXRecordDecl *ownerOf(const FunctionDecl *function) {
  const auto *method = dyn_cast_or_null<CXXMethodDecl>(function);
  return method ? method->getParent() : nullptr;
}

const Expr *strip(const Expr *expr) {
  while (expr) {
    const Expr *inner = nullptr;
    if (const auto *paren = dyn_cast<ParenExpr>(expr))
      inner = paren->getSubExpr();
    else if (const auto *cast = dyn_cast<CastExpr>(expr))
      inner = cast->getSubExpr();
    else if (const auto *temporary = dyn_cast<MaterializeTemporaryExpr>(expr))
      inner = temporary->getSubExpr();
    else if (const auto *bound = dyn_cast<CXXBindTemporaryExpr>(expr))
      inner = bound->getSubExpr();
    else if (const auto *full = dyn_cast<FullExpr>(expr))
      inner = full->getSubExpr();
    else if (const auto *by_default = dyn_cast<CXXDefaultInitExpr>(expr))
      inner = by_default->getExpr();
    else if (const auto *construct = dyn_cast<CXXConstructExpr>(expr)) {
      if (construct->getNumArgs() == 1 && construct->getConstructor()->isCopyOrMoveConstructor())
        inner = construct->getArg(0);
    } else if (const auto *call = dyn_cast<CallExpr>(expr)) {
      const FunctionDecl *callee = call->getDirectCallee();
      if (call->getNumArgs() == 1 && callee && callee->isInStdNamespace() &&
          (nameOf(callee) == "move" || nameOf(callee) == "forward" || nameOf(callee) == "as_const"))
        inner = call->getArg(0);
    }
    if (!inner)
      return expr;
    expr = inner;
  }
  return expr;
}

const Expr *asWritten(const Expr *value) {
  if (const auto *by_default = dyn_cast<CXXDefaultInitExpr>(value))
    value = by_default->getExpr();
  return value->IgnoreUnlessSpelledInSource();
}

const FunctionDecl *calleeOf(const Expr *call) {
  if (const auto *construct = dyn_cast_or_null<CXXConstructExpr>(call))
    return construct->getConstructor();
  if (const auto *plain = dyn_cast_or_null<CallExpr>(call))
    return plain->getDirectCallee();
  return nullptr;
}

llvm::StringRef nameOf(const FunctionDecl *function) {
  return function && function->getDeclName().isIdentifier() ? function->getName()
                                                            : llvm::StringRef();
}

const Expr *receiverOf(const Expr *call) {
  if (const auto *member = dyn_cast_or_null<CXXMemberCallExpr>(call))
    return member->getImplicitObjectArgument();
  if (const auto *op = dyn_cast_or_null<CXXOperatorCallExpr>(call))
    if (op->getNumArgs() > 0 && isa_and_nonnull<CXXMethodDecl>(op->getDirectCallee()))
      return op->getArg(0);
  return nullptr;
}

llvm::SmallVector<const Expr *, 4> argumentsOf(const Expr *call) {
  llvm::SmallVector<const Expr *, 4> arguments;
  auto add = [&](auto range) {
    for (const Expr *argument : range)
      if (argument && !isa<CXXDefaultArgExpr>(argument))
        arguments.push_back(argument);
  };
  if (const auto *construct = dyn_cast_or_null<CXXConstructExpr>(call))
    add(construct->arguments());
  else if (const auto *plain = dyn_cast_or_null<CallExpr>(call))
    add(plain->arguments());
  if (!arguments.empty() && isa<CXXOperatorCallExpr>(call) && receiverOf(call))
    arguments.erase(arguments.begin());
  return arguments;
}

bool isFactory(const FunctionDecl *function) {
  if (!function || !isTorchDecl(function) || !isTensor(function->getReturnType()) ||
      nameOf(function) == "to")
    return false;
  const CXXRecordDecl *owner = ownerOf(function);
  if (owner && simpleName(owner) != "Tensor")
    return false;
  for (const ParmVarDecl *parameter : function->parameters())
    if (isTensorOptions(parameter->getType()))
      return true;
  return false;
}

bool waitsForDevice(const FunctionDecl *callee, const CallExpr *call) {
  static const llvm::StringSet<> kRuntime{
      "cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize", "cuCtxSynchronize",
      "cuStreamSynchronize",   "hipDeviceSynchronize",  "hipStreamSynchronize"};
  static const llvm::StringSet<> kLibrary{"synchronize", "device_synchronize",
                                          "stream_synchronize"};
  llvm::StringRef name = nameOf(callee);
  const bool is_copy = isWaitingCopy(callee);
  if (is_copy || kRuntime.contains(name)) {
    if (ownerOf(callee) || !namespaceOf(callee).empty())
      return false;
    if (!is_copy)
      return true;
    // Only to the host: what goes the other way may well be there once and for all.
    Expr::EvalResult direction;
    const auto index = directionParameter(callee);
    const Expr *kind = index ? passedFor(call, callee, *index) : nullptr;
    return kind && !kind->isValueDependent() &&
           kind->EvaluateAsInt(direction, callee->getASTContext()) && direction.Val.getInt() == 2;
  }
  if (!kLibrary.contains(name) || !isTorchDecl(callee))
    return false;
  llvm::StringRef owner = simpleName(ownerOf(callee));
  // What a collective calls so makes streams wait for each other.
  return owner.empty() || owner.ends_with("Stream") || owner.ends_with("Event");
}

bool isStepName(llvm::StringRef name) {
  std::string lower = name.lower();
  llvm::StringRef text = lower;
  // "step", "train_step", "trainStep", "step_once"; not "steps", "stepper", "timestep".
  return text == "step" || text.ends_with("_step") || text.starts_with("step_") ||
         name.ends_with("Step") || text == "train_one_batch" || text == "train_batch" ||
         name == "trainBatch";
}

bool isText(QualType type) {
  type = type.getNonReferenceType();
  if (const QualType pointee = type->getPointeeType(); !pointee.isNull())
    return pointee->isSpecificBuiltinType(BuiltinType::Char_S) ||
           pointee->isSpecificBuiltinType(BuiltinType::Char_U);
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  return record && record->getDeclName().isIdentifier() && record->isInStdNamespace() &&
         (record->getName() == "basic_string" || record->getName() == "basic_string_view");
}

bool givesDevice(const Expr *argument) {
  if (const auto *list = dyn_cast<InitListExpr>(argument); list && list->getNumInits() == 1)
    argument = list->getInit(0);
  return namesDevice(argument->getType());
}

} // namespace devsan::analyzer
