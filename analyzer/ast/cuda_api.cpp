#include "analyzer/ast/cuda_api.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>
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

// Streams, events and handles of libraries are pointers to what only CUDA knows.
static bool mayBeMemory(QualType type) {
  if (!type->isPointerType() || isStream(type) || isLibraryHandle(type))
    return false;
  while (type->isPointerType())
    type = type->getPointeeType();
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  return !type->isFunctionType() && !(record && !record->hasDefinition()) &&
         !type->isSpecificBuiltinType(BuiltinType::Char_S) &&
         !type->isSpecificBuiltinType(BuiltinType::Char_U);
}

bool givesMemory(llvm::ArrayRef<const Expr *> parts) {
  return llvm::any_of(parts, [](const Expr *part) {
    const auto *named = dyn_cast<DeclRefExpr>(strip(part)->IgnoreParenCasts());
    return named && isa<ParmVarDecl>(named->getDecl()) && mayBeMemory(named->getType());
  });
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
const ParmVarDecl *calledParameter(const CallExpr *call) {
  const auto *op = dyn_cast<CXXOperatorCallExpr>(call);
  if (op && op->getOperator() != OO_Call)
    return nullptr;
  const Expr *called = strip(op ? op->getArg(0) : call->getCallee());
  if (const auto *forwarded = dyn_cast<CallExpr>(called); forwarded && forwarded->getNumArgs() == 1)
    called = strip(forwarded->getArg(0));
  const auto *reference = dyn_cast<DeclRefExpr>(called);
  return reference ? dyn_cast<ParmVarDecl>(reference->getDecl()) : nullptr;
}

bool isCudaApi(const FunctionDecl *callee) {
  if (!callee->isExternC())
    return false;
  const SourceManager &sources = callee->getASTContext().getSourceManager();
  return sources.isInSystemHeader(sources.getExpansionLoc(callee->getLocation()));
}

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
  const SourceManager &sources = function->getASTContext().getSourceManager();
  return llvm::StringRef(function->getQualifiedNameAsString()).starts_with("at::native::") &&
         sources.getFilename(sources.getExpansionLoc(function->getLocation()))
             .contains("ATen/native/");
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
