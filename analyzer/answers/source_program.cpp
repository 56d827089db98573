#include "analyzer/answers/source_program.h"

#include "analyzer/answers/device_habits.h"
#include "analyzer/answers/edits.h"
#include "analyzer/answers/registration.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/operator_name.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/ast/unresolved_code.h"
#include "analyzer/model/cuda/device_kinds.h"
#include "analyzer/model/data/data_holder.h"
#include "analyzer/model/fix_scope.h"
#include "analyzer/model/host_reads.h"
#include "analyzer/model/kept_modules.h"
#include "analyzer/model/module_state.h"

#include <clang/AST/ParentMapContext.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Lex/Lexer.h>

namespace devsan::analyzer {

using namespace clang;

SourceProgram::SourceProgram(ASTContext &context)
    : model_(DeviceModel::of(context)), members_(*model_) {}

std::shared_ptr<SourceProgram> SourceProgram::of(ASTContext &context) {
  thread_local std::weak_ptr<SourceProgram> shared;
  std::shared_ptr<SourceProgram> program = shared.lock();
  if (!program || &program->context() != &context) {
    program = std::make_shared<SourceProgram>(context);
    shared = program;
  }
  return program;
}

SourceLocation SourceProgram::nameLocation(const Expr *expr) {
  const Expr *inner = strip(expr);
  if (const auto *call = dyn_cast<CXXMemberCallExpr>(inner))
    if (const auto *member = dyn_cast<MemberExpr>(call->getCallee()->IgnoreParens()))
      return member->getMemberLoc();
  if (const auto *call = dyn_cast<CallExpr>(inner))
    if (const auto *member =
            dyn_cast<CXXDependentScopeMemberExpr>(call->getCallee()->IgnoreParens()))
      return member->getMemberLoc();
  return expr->getBeginLoc();
}

SourceLocation SourceProgram::locationOf(Code code) {
  return context().getSourceManager().getFileLoc(nameLocation(exprOf(code)));
}

std::string SourceProgram::name(Variable variable) {
  return nameOfVariable(declOf(variable));
}

std::string SourceProgram::spelling(Code code) {
  return shortText(context(), exprOf(code)->getSourceRange());
}

// Also inside the arguments of a macro.
std::string SourceProgram::fullText(Code code) {
  const SourceManager &sources = context().getSourceManager();
  const CharSourceRange written =
      Lexer::makeFileCharRange(CharSourceRange::getTokenRange(exprOf(code)->getSourceRange()),
                               sources, context().getLangOpts());
  return Lexer::getSourceText(written, sources, context().getLangOpts()).str();
}

std::string SourceProgram::calleeSpelling(Code call) {
  return spelling(cast<CallExpr>(exprOf(call))->getCallee());
}

std::string SourceProgram::operatorName(Code call) {
  return analyzer::operatorName(exprOf(call));
}

unsigned SourceProgram::line(Variable variable) {
  const SourceManager &sources = context().getSourceManager();
  return sources.getExpansionLineNumber(sources.getFileLoc(declOf(variable)->getLocation()));
}

bool SourceProgram::followsDevices() {
  if (!follows_devices_)
    follows_devices_ = analyzer::followsDevices(context());
  return *follows_devices_;
}

bool SourceProgram::isOfModule(Function function) {
  return derivesFromModule(ownerOf(functionOf(function)));
}

bool SourceProgram::isMethod(Function function) {
  return ownerOf(functionOf(function)) != nullptr;
}

bool SourceProgram::isConstructor(Function function) {
  return isa<CXXConstructorDecl>(functionOf(function));
}

bool SourceProgram::knowsPinnedMemory(Function function) {
  return contains(functionOf(function)->getBody(), [](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    const llvm::StringRef name = call ? nameOf(calledFunction(call)) : llvm::StringRef();
    return name == "pin_memory" || name == "pinned_memory" || name == "is_pinned" ||
           name == "cudaHostRegister";
  });
}

std::vector<HostRead> SourceProgram::hostReads(Function function) {
  return analyzer::hostReads(functionOf(function));
}

unsigned SourceProgram::mentions(Function function, Variable variable) {
  unsigned count = 0;
  contains(functionOf(function)->getBody(), [&](const Stmt *part) {
    const auto *reference = dyn_cast<DeclRefExpr>(part);
    count += reference && reference->getDecl() == declOf(variable);
    return false;
  });
  return count;
}

std::vector<Variable> SourceProgram::parameters(Function function) {
  std::vector<Variable> parameters;
  for (const ParmVarDecl *parameter : functionOf(function)->parameters())
    if (!parameter->getName().empty())
      parameters.push_back(parameter);
  return parameters;
}

std::vector<Variable> SourceProgram::members(Function method) {
  const auto fields = ownerOf(functionOf(method))->fields();
  return {fields.begin(), fields.end()};
}

std::string SourceProgram::ownerMadeOfTensor(Function function) {
  const CXXRecordDecl *owner = ownerOf(functionOf(function));
  const bool made =
      owner && owner->hasDefinition() &&
      llvm::any_of(owner->ctors(), [](const CXXConstructorDecl *constructor) {
        return !constructor->isCopyOrMoveConstructor() &&
               llvm::any_of(constructor->parameters(), [](const ParmVarDecl *parameter) {
                 return isTensor(parameter->getType());
               });
      });
  return made ? owner->getNameAsString() : "";
}

bool SourceProgram::isTested(Function function, const Path &path) {
  return analyzer::isTested(functionOf(function), path);
}

bool SourceProgram::isAssignedFrom(Function function, const Path &path, Code part) {
  return analyzer::isAssignedFrom(functionOf(function), path, exprOf(part));
}

Role SourceProgram::role(Variable variable) {
  const ValueDecl *decl = declOf(variable);
  if (const auto *parameter = dyn_cast<ParmVarDecl>(decl)) {
    const auto *method = dyn_cast<CXXMethodDecl>(parameter->getDeclContext());
    return method && method->getParent()->isLambda() ? Role::kLambdaParameter : Role::kParameter;
  }
  if (isa<FieldDecl>(decl))
    return Role::kMember;
  const auto *local = dyn_cast<VarDecl>(decl);
  return local && local->isLocalVarDecl() ? Role::kLocal : Role::kOther;
}

// A structure of the program with tensors in it, or a pointer to one.
static bool isStructureWithTensors(QualType type) {
  const CXXRecordDecl *record =
      type->isPointerType() ? type->getPointeeCXXRecordDecl() : type->getAsCXXRecordDecl();
  if (const auto *pointer = dyn_cast_or_null<ClassTemplateSpecializationDecl>(record);
      pointer && isLibraryDecl(pointer) && pointer->getTemplateArgs().size() > 0 &&
      pointer->getTemplateArgs()[0].getKind() == TemplateArgument::Type)
    record = pointer->getTemplateArgs()[0].getAsType()->getAsCXXRecordDecl();
  return record && record->hasDefinition() && !isLibraryDecl(record) &&
         llvm::any_of(record->getDefinition()->fields(),
                      [](const FieldDecl *field) { return holdsTensor(field->getType()); });
}

static Type typeOf(QualType type) {
  type = type.getNonReferenceType();
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  const bool is_library = record && isLibraryDecl(record);
  return isTensor(type)                                ? Type::kTensor
         : isModule(type)                              ? Type::kModule
         : isDevice(type)                              ? Type::kDevice
         : isDeviceType(type)                          ? Type::kDeviceType
         : isTensorOptions(type)                       ? Type::kOptions
         : namesDevice(type)                           ? Type::kMaybeDevice
         : is_library && holdsTensor(type)             ? Type::kTensors
         : isStructureWithTensors(type)                ? Type::kStructure
         : is_library && record->getName() == "IValue" ? Type::kData
                                                       : Type::kOther;
}

Type SourceProgram::type(Variable variable) {
  return typeOf(declOf(variable)->getType());
}

Code SourceProgram::initialiser(Variable variable) {
  const auto *decl = dyn_cast<VarDecl>(declOf(variable));
  return decl && decl->getInit() ? strip(decl->getInit()) : nullptr;
}

static bool isWithin(SourceLocation location, const Stmt *part, const SourceManager &sources) {
  return sources.isPointWithin(sources.getFileLoc(location),
                               sources.getFileLoc(part->getBeginLoc()),
                               sources.getFileLoc(part->getEndLoc()));
}

bool SourceProgram::isIn(Code code, Loop loop) {
  return isWithin(exprOf(code)->getBeginLoc(), loop.as<Stmt>(), context().getSourceManager());
}

bool SourceProgram::isDeclaredIn(Variable variable, Loop loop) {
  return isWithin(declOf(variable)->getLocation(), loop.as<Stmt>(), context().getSourceManager());
}

bool SourceProgram::isOverBefore(Loop inner, Loop outer, Code code) {
  const SourceManager &sources = context().getSourceManager();
  const auto *loop = inner.as<Stmt>();
  return sources.isBeforeInTranslationUnit(loop->getEndLoc(), exprOf(code)->getEndLoc()) &&
         (!outer ||
          sources.isBeforeInTranslationUnit(outer.as<Stmt>()->getBeginLoc(), loop->getBeginLoc()));
}

bool SourceProgram::isOnEveryTurn(Code code) {
  const Stmt *loop = model_->loopAround(exprOf(code));
  const Stmt *child = exprOf(code);
  while (loop && child != loop) {
    DynTypedNodeList parents = context().getParents(*child);
    const Stmt *parent = parents.empty() ? nullptr : parents[0].get<Stmt>();
    if (!parent && !parents.empty() && parents[0].get<VarDecl>()) {
      parents = context().getParents(parents[0]);
      parent = parents.empty() ? nullptr : parents[0].get<Stmt>();
    }
    if (!parent || isa<IfStmt, SwitchStmt, AbstractConditionalOperator>(parent))
      return false;
    child = parent;
  }
  return loop != nullptr;
}

namespace {

bool isStatementOf(const Stmt *child, const Stmt *parent) {
  if (const auto *branch = dyn_cast<IfStmt>(parent))
    return child != branch->getCond();
  if (const auto *loop = dyn_cast<ForStmt>(parent))
    return child != loop->getCond();
  if (const auto *comma = dyn_cast<BinaryOperator>(parent))
    return comma->getOpcode() == BO_Comma && child == comma->getLHS();
  return isa<CompoundStmt, CXXForRangeStmt, WhileStmt, DoStmt, SwitchCase>(parent);
}

// try { x.to(device); } asks whether that is possible, ({ x.to(device); }) has the result as its
// value.
bool isAsked(ASTContext &context, const Stmt *block) {
  const DynTypedNodeList parents = context.getParents(*block);
  return !parents.empty() && (parents[0].get<CXXTryStmt>() || parents[0].get<StmtExpr>());
}

} // namespace

bool SourceProgram::isDiscarded(Code code) {
  const Stmt *child = exprOf(code);
  for (;;) {
    const DynTypedNodeList parents = context().getParents(*child);
    const Stmt *parent = parents.empty() ? nullptr : parents[0].get<Stmt>();
    // EXPECT_THROW(x.to(device), …) and whatever else a macro makes a statement of.
    if (!parent || context().getSourceManager().isMacroBodyExpansion(parent->getBeginLoc()))
      return false;
    const auto *comma = dyn_cast<BinaryOperator>(parent);
    const bool passed_on = comma && comma->getOpcode() == BO_Comma && child == comma->getRHS();
    if (passed_on || isa<FullExpr, CXXBindTemporaryExpr, ParenExpr>(parent))
      child = parent;
    else
      return isStatementOf(child, parent) && !isAsked(context(), parent);
  }
}

bool SourceProgram::isDefaultOfMember(Code code) {
  return isa<CXXDefaultInitExpr>(exprOf(code));
}

bool SourceProgram::isOfAskedKind(Code device, Function function) {
  const CudaWork *work = cuda().work(functionOf(function));
  return work && llvm::any_of(analyzer::deviceKinds(*work), [&](const DeviceKind &kind) {
           return kind.from == DeviceKind::From::kIsCuda &&
                  context().getSourceManager().isPointWithin(exprOf(device)->getBeginLoc(),
                                                             exprOf(kind.expr)->getBeginLoc(),
                                                             exprOf(kind.expr)->getEndLoc());
         });
}

Type SourceProgram::type(Code code) {
  return typeOf(exprOf(code)->getType());
}

bool SourceProgram::isTemporary(Code code) {
  const Expr *value = strip(exprOf(code));
  return !value->isLValue() && !value->getType()->isPointerType();
}

bool SourceProgram::isName(Code code) {
  return isa<DeclRefExpr, MemberExpr>(strip(exprOf(code)));
}

Variable SourceProgram::variable(Code code) {
  const auto *reference = dyn_cast<DeclRefExpr>(strip(exprOf(code)));
  return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
}

bool SourceProgram::isKernel(Code launch) {
  return isa<CUDAKernelCallExpr>(exprOf(launch));
}

Code SourceProgram::receiver(Code call) {
  return receiverOf(exprOf(call));
}

Code SourceProgram::object(Code receiver) {
  const auto *arrow = dyn_cast<CXXOperatorCallExpr>(strip(exprOf(receiver)));
  return arrow && arrow->getOperator() == OO_Arrow ? Code(arrow->getArg(0)) : receiver;
}

std::vector<Code> SourceProgram::arguments(Code call) {
  std::vector<Code> arguments;
  for (const Expr *argument : argumentsOf(exprOf(call)))
    arguments.push_back(strip(argument));
  return arguments;
}

Argument SourceProgram::argument(Code call, std::string_view parameter) {
  const auto *plain = dyn_cast<CallExpr>(exprOf(call));
  const FunctionDecl *callee = plain ? calledFunction(plain) : nullptr;
  const unsigned offset = plain && isa<CXXOperatorCallExpr>(plain) ? 1 : 0;
  for (unsigned i = 0; callee && i < callee->getNumParams() && i + offset < plain->getNumArgs();
       ++i) {
    const ParmVarDecl *named = callee->getParamDecl(i);
    if (!named->getDeclName().isIdentifier() || named->getName() != llvm::StringRef(parameter))
      continue;
    const Expr *given = plain->getArg(i + offset);
    if (isa<CXXDefaultArgExpr>(given))
      return Argument::kLeftOut;
    bool value = true;
    if (given->isValueDependent() || !given->EvaluateAsBooleanCondition(value, context()))
      return Argument::kUnknown;
    return value ? Argument::kTrue : Argument::kFalse;
  }
  return Argument::kNoParameter;
}

bool SourceProgram::givesDevice(Code call) {
  // `std::nullopt` is none.
  return llvm::any_of(argumentsOf(exprOf(call)), [](const Expr *argument) {
    const CXXRecordDecl *record =
        argument->IgnoreUnlessSpelledInSource()->getType()->getAsCXXRecordDecl();
    const bool none = record && record->isInStdNamespace() && record->getName() == "nullopt_t";
    return namesDevice(argument->getType()) && !none;
  });
}

DeviceParameter SourceProgram::deviceParameter(Code code) {
  const auto *call = cast<CallExpr>(exprOf(code));
  const FunctionDecl *callee = call->getDirectCallee();
  const auto names = [](const ParmVarDecl *parameter) { return namesDevice(parameter->getType()); };
  const unsigned given = argumentsOf(call).size();
  // torch::load forwards what follows the value to a function whose last parameter is the device.
  if (callee->getPrimaryTemplate() ||
      (given < callee->getNumParams() && names(callee->getParamDecl(given))))
    return DeviceParameter::kNext;
  return llvm::any_of(callee->parameters(), names) ? DeviceParameter::kSomewhere
                                                   : DeviceParameter::kNone;
}

std::vector<Variable> SourceProgram::devicesIn(Code call) {
  std::vector<Variable> devices;
  for (const Expr *argument : argumentsOf(exprOf(call)))
    contains(argument, [&](const Stmt *part) {
      const auto *reference = dyn_cast<DeclRefExpr>(part);
      if (const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
          variable && isDevice(variable->getType()))
        devices.push_back(variable);
      return false;
    });
  return devices;
}

// A literal 0 among the sizes themselves, not in what computes one of them: x.size(0).
static bool hasZero(const Expr *sizes) {
  const Expr *inner = strip(sizes);
  if (const auto *literal = dyn_cast<IntegerLiteral>(inner))
    return literal->getValue() == 0;
  if (!isa<InitListExpr, CXXConstructExpr, CXXStdInitializerListExpr>(inner))
    return false;
  return llvm::any_of(inner->children(), [](const Stmt *part) {
    const auto *element = dyn_cast_or_null<Expr>(part);
    return element && hasZero(element);
  });
}

bool SourceProgram::hasZeroSize(Code factory) {
  const auto *call = dyn_cast<CallExpr>(strip(exprOf(factory)));
  static const llvm::StringSet<> kSizesFirst{"empty", "zeros", "ones", "full", "rand", "randn"};
  return call && call->getNumArgs() > 0 && kSizesFirst.contains(nameOf(calleeOf(call))) &&
         hasZero(call->getArg(0));
}

bool SourceProgram::isLibraryModule(Code module) {
  const CXXRecordDecl *record = moduleClass(exprOf(module)->getType());
  return record && isTorchDecl(record);
}

// Not an allocator of the project's own, which may give pinned memory.
static bool usesHeap(const CXXRecordDecl *vector) {
  const auto *specialization = dyn_cast<ClassTemplateSpecializationDecl>(vector);
  if (!specialization || specialization->getTemplateArgs().size() < 2)
    return false;
  const CXXRecordDecl *allocator =
      specialization->getTemplateArgs()[1].getAsType()->getAsCXXRecordDecl();
  return allocator && allocator->isInStdNamespace();
}

// A pointer may point to anything.
bool SourceProgram::isOverOrdinaryMemory(Code factory) {
  const Expr *pointer = strip(cast<CallExpr>(exprOf(factory))->getArg(0));
  if (const auto *call = dyn_cast<CXXMemberCallExpr>(pointer)) {
    const CXXRecordDecl *owner = call->getRecordDecl();
    return nameOf(call->getMethodDecl()) == "data" && owner && owner->isInStdNamespace() &&
           (owner->getName() == "array" || (owner->getName() == "vector" && usesHeap(owner)));
  }
  if (const auto *address = dyn_cast<UnaryOperator>(pointer))
    pointer = strip(address->getSubExpr());
  const auto *reference = dyn_cast<DeclRefExpr>(pointer);
  return reference && !reference->getType()->isPointerType() &&
         !reference->getType()->isReferenceType();
}

std::optional<Path> SourceProgram::source(const FunctionFacts &facts, Code code) {
  const Expr *expr = strip(exprOf(code));
  std::optional<Path> path;
  while (!(path = facts.path(expr))) {
    const Expr *receiver = receiverOf(expr);
    if (!receiver) {
      const llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(expr);
      if (arguments.empty() || !holdsTensor(arguments[0]->getType()))
        return std::nullopt;
      receiver = arguments[0];
    }
    expr = strip(receiver);
  }
  return path;
}

std::optional<Path> SourceProgram::whole(const FunctionFacts &facts, Code code, bool &is_element) {
  static const llvm::StringSet<> kElements{"index", "select", "narrow", "data", "at"};
  // Of a list of tensors, too: its path is that of the list.
  const auto is_subscript = [](const Expr *expr) {
    const auto *subscript = dyn_cast<CXXOperatorCallExpr>(expr);
    return subscript && subscript->getOperator() == OO_Subscript;
  };
  const Expr *expr = strip(exprOf(code));
  std::optional<Path> path;
  while (!(path = facts.path(expr)) || is_subscript(expr)) {
    const Expr *receiver = receiverOf(expr);
    if (!receiver || !(is_subscript(expr) || kElements.contains(nameOf(calleeOf(expr)))))
      return std::nullopt;
    is_element = true;
    expr = strip(receiver);
  }
  return path;
}

// None where several may have it, one after the other: in instantiations of a template, and behind
// a macro.
std::optional<DataHolder> SourceProgram::holder(const FunctionFacts &facts, Code code,
                                                const Place &place) {
  // Parameters are those of the template.
  const bool is_parameter =
      place.of.fields.empty() && isa_and_nonnull<ParmVarDecl>(declOf(place.of.root));
  const bool is_one = is_parameter || !functionOf(facts.function)->isTemplateInstantiation();
  return is_one && !exprOf(code)->getBeginLoc().isMacroID() ? holderOf(place) : std::nullopt;
}

bool SourceProgram::sees(Function function, Code at, Variable variable) {
  return FixScope(functionOf(function), exprOf(at)).sees(declOf(variable));
}

std::string SourceProgram::deviceOf(Function function, Code at, const Path &path) {
  return FixScope(functionOf(function), exprOf(at)).device(path).value_or("");
}

ModuleState SourceProgram::stateOf(const ClassFacts &facts, const MemberState &member) {
  const ValueDecl *field = declOf(member.field);
  if (member.several)
    return moduleStateOf(field->getType());
  ModuleState state = moduleStateOf(exprOf(member.initialised));
  const auto puts = [&](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    return call && isRegistration(nameOf(calleeOf(call))) && receiverOf(call) &&
           names(receiverOf(call), field);
  };
  for (const CXXMethodDecl *method : members_.definitionsOf(facts.id.as<CXXRecordDecl>()))
    if (contains(method->getBody(), puts))
      state.tensors = true;
  return state;
}

Edits SourceProgram::passDevice(Code factory, const std::string &device) {
  return editsOf(deviceGiven(context(), exprOf(factory), device));
}

Edits SourceProgram::copyTo(Code code, const std::string &device) {
  return editsOf(copiedTo(exprOf(code), device));
}

Edits SourceProgram::appendArgument(Code call, const std::string &argument) {
  return editsOf(argumentAppended(exprOf(call), argument));
}

Edits SourceProgram::assignBack(Code call) {
  return editsOf(assignedBack(context(), exprOf(call)));
}

Edits SourceProgram::makeThere(Code move, const std::string &device) {
  return editsOf(madeThere(context(), exprOf(move), device));
}

Edits SourceProgram::nameDevice(Code request, Code spelled, const std::string &device,
                                bool replace) {
  return editsOf(deviceNamed(exprOf(request), exprOf(spelled), device, replace));
}

Edits SourceProgram::putOwnBack(Code gather) {
  return editsOf(ownPutBack(context(), exprOf(gather)));
}

Edits SourceProgram::registerMember(const ClassFacts &facts, const MemberState &member,
                                    std::string_view method) {
  const auto *record = facts.id.as<CXXRecordDecl>();
  return editsOf(registration(record, member, method, members_.definitionsOf(record), context()));
}

} // namespace devsan::analyzer
