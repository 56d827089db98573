#include "analyzer/ast/cuda_api.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/clang_compat.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/DeclTemplate.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

const CXXRecordDecl *recordOf(QualType type) {
  return type.isNull() ? nullptr : type.getNonReferenceType()->getAsCXXRecordDecl();
}

bool isInNamespace(const Decl *decl, llvm::StringRef outermost) {
  const NamespaceDecl *space = nullptr;
  for (const DeclContext *context = decl->getDeclContext(); context; context = context->getParent())
    if (const auto *named = dyn_cast<NamespaceDecl>(context))
      space = named;
  return space && space->getName() == outermost;
}

bool fits(const FunctionDecl *function, const CallExpr *call) {
  const unsigned given = call->getNumArgs();
  return function->getMinRequiredArguments() <= given &&
         (given <= function->getNumParams() || function->isVariadic() ||
          llvm::any_of(function->parameters(),
                       [](const ParmVarDecl *parameter) { return parameter->isParameterPack(); }));
}

// Of several overloads any stands for all: what is asked of it is its name, or its body where there
// is one. Best is one that can take the arguments, a stream among them.
const FunctionDecl *bestOverload(llvm::ArrayRef<const FunctionDecl *> functions,
                                 const CallExpr *call) {
  const auto rank = [&](const FunctionDecl *function) {
    const auto stream = declaredStreamParameter(function);
    const bool takes_stream =
        stream && *stream < call->getNumArgs() && isStream(call->getArg(*stream)->getType());
    return (fits(function, call) ? 4 : 0) + (takes_stream ? 2 : 0) + (function->hasBody() ? 1 : 0);
  };
  const FunctionDecl *best = nullptr;
  for (const FunctionDecl *function : functions)
    best = !best || rank(function) > rank(best) ? function : best;
  return best;
}

// The functions of a class template that a call on a dependent object may mean, as far as the
// template as it is written says: `typename T::Op op; op.run()` does not, `Op<T> op; op.run()` does.
llvm::SmallVector<const FunctionDecl *, 4>
membersOfTemplate(const CXXDependentScopeMemberExpr *member) {
  QualType type = member->getBaseType();
  if (type.isNull())
    return {};
  if (type->isPointerType())
    type = type->getPointeeType();
  const auto *specialization = type->getAs<TemplateSpecializationType>();
  const auto *written = specialization ? dyn_cast_or_null<ClassTemplateDecl>(
                                             specialization->getTemplateName().getAsTemplateDecl())
                                       : nullptr;
  if (!written || !written->getTemplatedDecl()->hasDefinition())
    return {};
  llvm::SmallVector<const FunctionDecl *, 4> functions;
  for (const NamedDecl *decl :
       written->getTemplatedDecl()->getDefinition()->lookup(member->getMember()))
    if (const FunctionDecl *function = decl->getUnderlyingDecl()->getAsFunction())
      functions.push_back(function);
  return functions;
}

// Declared by nobody but in place of a missing header, where a name of no known type stands in.
bool isUndeclared(const ValueDecl *decl) {
  return decl->getType()->isSpecificBuiltinType(BuiltinType::Dependent);
}

bool isUndeclared(Qualifier qualifier);

bool isUndeclared(QualType type) {
  while (!type.isNull()) {
    if (const auto *alias = dyn_cast<TypedefType>(type.getTypePtr())) {
      type = alias->getDecl()->getUnderlyingType();
      if (type->isSpecificBuiltinType(BuiltinType::Dependent))
        return true;
    } else if (const auto *member = dyn_cast<DependentNameType>(type.getTypePtr())) {
      return isUndeclared(member->getQualifier());
    } else if (const auto *specialization =
                   dyn_cast<TemplateSpecializationType>(type.getTypePtr())) {
      const DependentTemplateName *name =
          specialization->getTemplateName().getAsDependentTemplateName();
      return name && isUndeclared(name->getQualifier());
    } else {
      return false;
    }
  }
  return false;
}

bool isUndeclared(Qualifier qualifier) {
  const clang::Type *type = typeOf(qualifier);
  return type && isUndeclared(QualType(type, 0));
}

// The object behind `->`, `*`, `.get()` and members of it.
const Expr *wholeObject(const Expr *expr) {
  while ((expr = strip(expr))) {
    const Expr *inner = nullptr;
    if (const auto *member = dyn_cast<MemberExpr>(expr)) {
      inner = member->getBase();
    } else if (const auto *dependent = dyn_cast<CXXDependentScopeMemberExpr>(expr)) {
      inner = dependent->isImplicitAccess() ? nullptr : dependent->getBase();
    } else if (const auto *op = dyn_cast<UnaryOperator>(expr)) {
      inner = op->getSubExpr();
    } else if (const auto *call = dyn_cast<CXXOperatorCallExpr>(expr)) {
      inner = call->getOperator() == OO_Arrow || call->getOperator() == OO_Star ? call->getArg(0)
                                                                                : nullptr;
    } else if (const auto *method = dyn_cast<CXXMemberCallExpr>(expr)) {
      inner = method->getMethodDecl() && method->getMethodDecl()->getParent()->isInStdNamespace() &&
                      method->getNumArgs() == 0
                  ? method->getImplicitObjectArgument()
                  : nullptr;
    }
    if (!inner)
      return expr;
    expr = inner;
  }
  return nullptr;
}

// What a method or an operator is called of.
const Expr *calledObject(const CallExpr *call) {
  if (const auto *member = dyn_cast<CXXMemberCallExpr>(call))
    return member->getImplicitObjectArgument();
  if (const auto *op = dyn_cast<CXXOperatorCallExpr>(call))
    return op->getNumArgs() ? op->getArg(0) : nullptr;
  const Expr *callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto *member = dyn_cast<CXXDependentScopeMemberExpr>(callee))
    return member->isImplicitAccess() ? nullptr : member->getBase();
  return isa<DeclRefExpr>(callee) ? callee : nullptr;
}

bool wasToldDevice(const Expr *object, llvm::SmallPtrSetImpl<const VarDecl *> &followed) {
  object = object ? wholeObject(object) : nullptr;
  if (!object)
    return false;
  if (const auto *reference = dyn_cast<DeclRefExpr>(object)) {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    return variable && !isa<ParmVarDecl>(variable) && followed.insert(variable).second &&
           wasToldDevice(variable->getInit(), followed);
  }
  if (const auto *made = dyn_cast<CXXNewExpr>(object))
    return made->getInitializer() && wasToldDevice(made->getInitializer(), followed);
  // The arguments of a constructor, of make_unique, of what a template leaves open.
  if (const auto *call = dyn_cast<CallExpr>(object))
    return anyNamesDevice(llvm::ArrayRef(call->getArgs(), call->getNumArgs()));
  llvm::SmallVector<const Expr *, 4> parts;
  for (const Stmt *part : object->children())
    if (const auto *expr = dyn_cast_or_null<Expr>(part))
      parts.push_back(expr);
  return anyNamesDevice(parts);
}

// Names a device: `x.get_device()`, `stream.device_index()`, also through a variable.
struct DeviceFinder : AstVisitor {
  bool VisitCallExpr(CallExpr *call) override {
    static const llvm::StringSet<> kNames{"get_device", "device", "device_index", "index"};
    const FunctionDecl *callee = calledFunction(call);
    found |= callee && isTorchDecl(callee) && kNames.contains(nameOf(callee));
    return !found;
  }
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    const auto *variable = dyn_cast<VarDecl>(reference->getDecl());
    if (variable && variable->isLocalVarDecl() && variable->getInit() &&
        variable->getType()->isIntegerType() && followed.insert(variable).second)
      TraverseStmt(const_cast<Expr *>(variable->getInit()));
    return !found;
  }
  llvm::SmallPtrSet<const VarDecl *, 4> followed;
  bool found = false;
};

} // namespace

bool isStreamHandle(QualType type) {
  const auto *typedef_type = type->getAs<TypedefType>();
  if (typedef_type && typedef_type->getDecl()->getName() == "cudaStream_t")
    return true;
  const QualType pointee = type.getCanonicalType()->getPointeeType();
  const auto *record = pointee.isNull() ? nullptr : pointee->getAsRecordDecl();
  return record && (record->getName() == "CUstream_st" || record->getName() == "ihipStream_t");
}

bool isLibraryHandle(QualType type) {
  const auto *alias = type.getNonReferenceType()->getAs<TypedefType>();
  const llvm::StringRef name = alias ? alias->getDecl()->getName() : llvm::StringRef();
  return type->isPointerType() && name.ends_with("Handle_t") &&
         (name.starts_with("cu") || name.starts_with("hip"));
}

bool isHostOnly(llvm::StringRef name) {
  // The libraries' own words: `cublasSetWorkspace` keeps the pointer, `cudnnGetRNNLinLayer…` and
  // `cusolverDnSgetrf_bufferSize` compute from it, and nothing is read. cudnnSetTensor, which does
  // launch, is lost.
  if (name.ends_with("ufferSize"))
    return true;
  const llvm::StringRef verb = name.drop_until(llvm::isUpper);
  return llvm::any_of(llvm::ArrayRef<llvm::StringRef>{"Set", "Get", "Create", "Destroy"},
                      [&](llvm::StringRef word) { return verb.starts_with(word); });
}

bool isStream(QualType type) {
  if (type.isNull() || type->isUndeducedType())
    return false;
  if (isStreamHandle(type.getNonReferenceType()))
    return true;
  const CXXRecordDecl *record = recordOf(type);
  return record && record->getDeclName().isIdentifier() && isTorchDecl(record) &&
         (record->getName() == "CUDAStream" || record->getName() == "Stream");
}

bool holdsStream(QualType type) {
  const CXXRecordDecl *record = recordOf(type);
  if (!record) {
    // Of a template, whatever its arguments are.
    const auto *specialization =
        type.isNull() ? nullptr : type.getNonReferenceType()->getAs<TemplateSpecializationType>();
    const auto *written = specialization
                              ? dyn_cast_or_null<ClassTemplateDecl>(
                                    specialization->getTemplateName().getAsTemplateDecl())
                              : nullptr;
    record = written ? written->getTemplatedDecl() : nullptr;
  }
  if (!record || !record->hasDefinition() || isLibraryDecl(record))
    return false;
  for (const FieldDecl *field : record->getDefinition()->fields())
    if (isStream(field->getType()))
      return true;
  return false;
}

const FunctionDecl *calledFunction(const CallExpr *call) {
  if (const FunctionDecl *callee = call->getDirectCallee())
    return callee;
  const Expr *written = call->getCallee()->IgnoreParenImpCasts();
  llvm::SmallVector<const FunctionDecl *, 4> functions;
  if (const auto *member = dyn_cast<CXXDependentScopeMemberExpr>(written))
    functions = membersOfTemplate(member);
  else if (const auto *overloads = dyn_cast<OverloadExpr>(written))
    for (const NamedDecl *decl : overloads->decls())
      if (const FunctionDecl *function = decl->getUnderlyingDecl()->getAsFunction())
        functions.push_back(function);
  return bestOverload(functions, call);
}

// Without what CUDA's headers append: the kind of default stream, the version.
static llvm::StringRef withoutVariant(llvm::StringRef name) {
  for (llvm::StringRef variant : {"_ptsz", "_ptds", "_spt"})
    name.consume_back(variant);
  const llvm::StringRef before = name.rtrim("0123456789");
  return before.ends_with("_v") && before.size() < name.size() ? before.drop_back(2) : name;
}

// Whether a function of CUDA's or HIP's copies or sets memory; and whether in a stream's order.
static bool isMemoryWork(llvm::StringRef name, bool is_async) {
  name = withoutVariant(name);
  return name.ends_with("Async") == is_async &&
         (name.consume_front("cuda") || name.consume_front("hip") || name.consume_front("cu")) &&
         (name.starts_with("Memcpy") || name.starts_with("Memset"));
}

bool isWaitingCopy(const FunctionDecl *function) {
  const llvm::StringRef name = nameOf(function);
  // Between devices the host does not wait.
  return isMemoryWork(name, /*is_async=*/false) && name.contains("Memcpy") &&
         !name.contains("Peer") && !name.contains("DtoD") && !declaredStreamParameter(function);
}

std::optional<unsigned> streamParameter(const FunctionDecl *function) {
  static const llvm::StringSet<> kHandles{
      "cublasSetStream_v2", "cublasSetStream", "cusparseSetStream", "cusolverDnSetStream",
      "curandSetStream",    "cudnnSetStream",  "cufftSetStream",    "nvjpegSetStream"};
  const llvm::StringRef name = nameOf(function);
  return isMemoryWork(name, /*is_async=*/true) || isKernelLaunch(name) || kHandles.contains(name)
             ? declaredStreamParameter(function)
             : std::nullopt;
}

std::optional<unsigned> directionParameter(const FunctionDecl *function) {
  for (unsigned i = 0; i < function->getNumParams(); ++i) {
    const auto *kind = function->getParamDecl(i)->getType()->getAs<EnumType>();
    if (kind && kind->getDecl()->getName().ends_with("MemcpyKind"))
      return i;
  }
  return std::nullopt;
}

std::optional<unsigned> declaredStreamParameter(const FunctionDecl *function) {
  for (unsigned i = 0; i < function->getNumParams(); ++i)
    if (isStreamHandle(function->getParamDecl(i)->getType()))
      return i;
  return std::nullopt;
}

bool namesAllocation(llvm::StringRef function) {
  return function.contains_insensitive("alloc") || function.contains_insensitive("free");
}

bool putsWorkOnStream(const FunctionDecl *function, unsigned parameter) {
  if (namesAllocation(nameOf(function)))
    return false;
  const FunctionDecl *definition = nullptr;
  if (const FunctionDecl *written = function->getTemplateInstantiationPattern())
    function = written;
  // A pack of the function as it is written has fewer parameters than what it becomes.
  return !function->isDefined(definition) || definition->hasSkippedBody() ||
         parameter >= definition->getNumParams() ||
         definition->getParamDecl(parameter)->isReferenced() ||
         definition->getParamDecl(parameter)->isUsed(/*CheckUsedAttr=*/false);
}

const Expr *passedFor(const CallExpr *call, const FunctionDecl *callee, unsigned index) {
  // A member operator's object is its first argument.
  const bool has_object =
      isa<CXXOperatorCallExpr>(call) && isa<CXXMethodDecl>(callee) && !callee->isStatic();
  const unsigned position = index + (has_object ? 1 : 0);
  if (position < call->getNumArgs()) {
    const Expr *passed = call->getArg(position);
    if (const auto *absent = dyn_cast<CXXDefaultArgExpr>(passed))
      return absent->getExpr();
    // What a pack becomes is not known here.
    for (unsigned i = 0; i <= position; ++i)
      if (isa<PackExpansionExpr>(call->getArg(i)))
        return nullptr;
    return passed;
  }
  // In a template the defaults are not filled in yet.
  const ParmVarDecl *parameter =
      index < callee->getNumParams() ? callee->getParamDecl(index) : nullptr;
  return parameter && parameter->hasDefaultArg() && !parameter->hasUninstantiatedDefaultArg() &&
                 !parameter->hasUnparsedDefaultArg()
             ? parameter->getDefaultArg()
             : nullptr;
}

bool isKernelLaunch(llvm::StringRef name) {
  return name.starts_with("cudaLaunchKernel") || name.starts_with("cudaLaunchCooperativeKernel") ||
         name.starts_with("cuLaunchKernel") || name == "cuLaunchCooperativeKernel" ||
         name.starts_with("hipLaunchKernel") || name == "hipModuleLaunchKernel";
}

bool usesDefaultStreamOnly(llvm::StringRef name) {
  return isMemoryWork(name, /*is_async=*/false) && name.contains("Memset");
}

bool isThrustOnDefaultStream(const CallExpr *call, const FunctionDecl *callee) {
  if (!isInNamespace(callee, "thrust") || callee->getDeclContext()->isRecord() ||
      call->getNumArgs() == 0)
    return false;
  const Expr *first = strip(call->getArg(0))->IgnoreParenCasts();
  // `thrust::device`, `thrust::cuda::par`, and the latter with an allocator: none names a stream.
  if (const auto *with_allocator = dyn_cast<CXXOperatorCallExpr>(first))
    first = with_allocator->getOperator() == OO_Call
                ? strip(with_allocator->getArg(0))->IgnoreParenCasts()
                : first;
  else if (const auto *dependent = dyn_cast<CallExpr>(first);
           dependent && !calledFunction(dependent))
    first = dependent->getCallee()->IgnoreParenCasts();
  const auto *policy = dyn_cast<DeclRefExpr>(first);
  if (!policy || !isInNamespace(policy->getDecl(), "thrust") ||
      !policy->getDecl()->getDeclName().isIdentifier())
    return false;
  const llvm::StringRef name = policy->getDecl()->getName();
  return name == "device" || name == "par" || name == "par_nosync";
}

bool isCubAlgorithm(const FunctionDecl *callee) {
  const CXXRecordDecl *owner = ownerOf(callee);
  return owner && isInNamespace(owner, "cub") && owner->getName().starts_with("Device");
}

bool isCubSizeQuery(const CallExpr *call) {
  return call->getNumArgs() > 0 && isa<CXXNullPtrLiteralExpr, GNUNullExpr, IntegerLiteral>(
                                       strip(call->getArg(0))->IgnoreParenCasts());
}

bool isCurrentStreamCall(const FunctionDecl *callee) {
  return callee && isTorchDecl(callee) && nameOf(callee) == "getCurrentCUDAStream";
}

bool asksCurrentDevice(const FunctionDecl *callee) {
  static const llvm::StringSet<> kNames{
      "getCurrentDeviceProperties",   "warp_size",
      "getCurrentCUDABlasHandle",     "getCurrentCUDASparseHandle",
      "getCurrentCUDASolverDnHandle", "getCurrentCUDABlasLtHandle"};
  return callee && isTorchDecl(callee) && kNames.contains(nameOf(callee));
}

namespace {

// kCUDA or "cuda" for the device, also in a variable with options; with an index it is no question.
struct CurrentDeviceFinder : AstVisitor {
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    const ValueDecl *decl = reference->getDecl();
    if (isDeviceType(decl->getType()) && decl->getDeclName().isIdentifier())
      found |= decl->getName().ends_with("CUDA") || decl->getName().ends_with("HIP");
    const auto *variable = dyn_cast<VarDecl>(decl);
    if (variable && variable->isLocalVarDecl() && variable->getInit() &&
        namesDevice(variable->getType()) && followed.insert(variable).second)
      TraverseStmt(const_cast<Expr *>(variable->getInit()));
    return !found;
  }
  bool VisitStringLiteral(StringLiteral *literal) override {
    found |=
        literal->isOrdinary() && (literal->getString() == "cuda" || literal->getString() == "hip");
    return !found;
  }
  llvm::SmallPtrSet<const VarDecl *, 4> followed;
  bool found = false;
};

} // namespace

bool makesOnCurrentDevice(const CallExpr *call) {
  const FunctionDecl *callee = calledFunction(call);
  if (!callee)
    return false;
  const llvm::StringRef name = nameOf(callee);
  if (!isTorchDecl(callee))
    return callee->isExternC() && (name.contains("Malloc") || name.contains("Create") ||
                                   name.contains("Alloc") || name.starts_with("cufftPlan"));
  if (name == "raw_alloc" || name == "raw_alloc_with_stream" || name == "cuda")
    return true;
  if (!isFactory(callee) && name != "to")
    return false;
  CurrentDeviceFinder finder;
  for (const Expr *argument : argumentsOf(call))
    if (namesDevice(argument->getType()))
      finder.TraverseStmt(const_cast<Expr *>(argument));
  return finder.found;
}

bool isDeviceContainer(QualType type) {
  const CXXRecordDecl *record = recordOf(type);
  return record && record->getDeclName().isIdentifier() && record->getName() == "device_vector" &&
         isInNamespace(record, "thrust");
}

bool isGuardedByDispatcher(const FunctionDecl *function) {
  return llvm::StringRef(function->getQualifiedNameAsString()).starts_with("at::native::");
}

// Of any kind of device, as c10::Stream is: it knows its device, and no kernel is launched on it as
// it is.
static bool isGenericStream(QualType type) {
  const CXXRecordDecl *record = recordOf(type);
  return record && record->getDeclName().isIdentifier() && record->getName() == "Stream";
}

bool anyNamesDevice(llvm::ArrayRef<const Expr *> arguments) {
  DeviceFinder finder;
  for (const Expr *argument : arguments) {
    const QualType type = argument->getType();
    if (isStream(type)) {
      if (isGenericStream(type) && isa<DeclRefExpr>(argument->IgnoreImplicit()))
        return true;
      continue;
    }
    if (!type.isNull() && !type->isUndeducedType() && (holdsTensor(type) || namesDevice(type)))
      return true;
    finder.TraverseStmt(const_cast<Expr *>(argument));
  }
  return finder.found;
}

bool isOfToldObject(const CallExpr *call) {
  llvm::SmallPtrSet<const VarDecl *, 4> followed;
  return wasToldDevice(calledObject(call), followed);
}

bool callsUndeclared(const CallExpr *call) {
  const Expr *callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto *name = dyn_cast<DependentScopeDeclRefExpr>(callee))
    return isUndeclared(name->getQualifier());
  if (const auto *named = dyn_cast<DeclRefExpr>(callee); named && isUndeclared(named->getDecl()))
    return true;
  const Expr *object = calledObject(call);
  object = object ? strip(object) : nullptr;
  const auto *named = object ? dyn_cast<DeclRefExpr>(object) : nullptr;
  const auto *variable = named ? dyn_cast<VarDecl>(named->getDecl()) : nullptr;
  if (!variable)
    return object && isUndeclared(object->getType());
  // Its maker is elsewhere, and may have told it the device.
  if (isa<ParmVarDecl>(variable))
    return false;
  QualType type = variable->getType();
  if (type->getContainedAutoType() && variable->getInit())
    type = strip(variable->getInit())->getType();
  return isUndeclared(type->isPointerType() ? type->getPointeeType() : type);
}

bool setsDevice(const CallExpr *call) {
  const FunctionDecl *callee = calledFunction(call);
  const llvm::StringRef name = nameOf(callee);
  if (name == "cudaSetDevice" || name == "hipSetDevice")
    return !callee->getDeclContext()->isRecord();
  return callee && isTorchDecl(callee) && !callee->getDeclContext()->isRecord() &&
         (name == "set_device" || name == "SetDevice" || name == "MaybeSetDevice" ||
          name == "ExchangeDevice" || name == "MaybeExchangeDevice");
}

namespace {

// Guards in guards; it also ends recursion.
constexpr unsigned kMaxGuardDepth = 3;

bool isGuard(QualType type, unsigned depth);

bool holdsGuardWithin(const CXXRecordDecl *record, unsigned depth) {
  if (!record || !record->hasDefinition() || isLibraryDecl(record) || depth > kMaxGuardDepth)
    return false;
  record = record->getDefinition();
  return llvm::any_of(record->fields(),
                      [&](const FieldDecl *field) {
                        return !field->getType()->isReferenceType() &&
                               !field->getType()->isPointerType() &&
                               isGuard(field->getType(), depth + 1);
                      }) ||
         llvm::any_of(record->bases(), [&](const CXXBaseSpecifier &base) {
           return isGuard(base.getType(), depth + 1);
         });
}

// Restores in its destructor what it sets in its constructor.
bool restoresDevice(const CXXRecordDecl *record) {
  const CXXDestructorDecl *destructor =
      record && record->hasDefinition() ? record->getDestructor() : nullptr;
  const FunctionDecl *definition = nullptr;
  return destructor && destructor->hasBody(definition) &&
         contains(definition->getBody(), [](const Stmt *part) {
           const auto *call = dyn_cast<CallExpr>(part);
           return call && setsDevice(call);
         });
}

bool isGuard(QualType type, unsigned depth) {
  if (isDeviceGuard(type))
    return true;
  const auto *record = type->getAsCXXRecordDecl();
  if (!record || depth > kMaxGuardDepth)
    return false;
  if (!isLibraryDecl(record))
    return restoresDevice(record) || holdsGuardWithin(record, depth);
  const auto *specialization = dyn_cast<ClassTemplateSpecializationDecl>(record);
  return specialization && specialization->getTemplateArgs().size() &&
         specialization->getTemplateArgs()[0].getKind() == TemplateArgument::Type &&
         isGuard(specialization->getTemplateArgs()[0].getAsType(), depth + 1);
}

} // namespace

bool isGuard(QualType type) {
  return isGuard(type, 0);
}

bool holdsGuard(const CXXRecordDecl *record) {
  return holdsGuardWithin(record, 0);
}

bool startsGuard(const VarDecl *variable) {
  const QualType type = variable->getType();
  if (!isGuard(type))
    return false;
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  const auto *construct = dyn_cast_or_null<CXXConstructExpr>(
      variable->getInit() ? variable->getInit()->IgnoreImplicit() : nullptr);
  const bool is_empty =
      construct && (construct->getNumArgs() == 0 || isa<CXXDefaultArgExpr>(construct->getArg(0)) ||
                    construct->getArg(0)->getType()->isNullPtrType());
  return !is_empty || (record && !isLibraryDecl(record));
}

bool isGuardSetter(const CallExpr *call) {
  const auto *member = dyn_cast<CXXMemberCallExpr>(call);
  if (!member || !member->getMethodDecl() || !isGuard(member->getObjectType()))
    return false;
  const llvm::StringRef name = nameOf(member->getMethodDecl());
  return name.starts_with("set_") || name.starts_with("reset_") || name == "emplace";
}

const Expr *streamSource(const Expr *expr) {
  expr = strip(expr);
  while (const auto *member = dyn_cast<CXXMemberCallExpr>(expr)) {
    if (!isTorchDecl(member->getMethodDecl() ? static_cast<const Decl *>(member->getMethodDecl())
                                             : member->getRecordDecl()))
      break;
    expr = strip(member->getImplicitObjectArgument());
  }
  return expr;
}

} // namespace devsan::analyzer
