#include "analyzer/answers/source_program.h"

#include "analyzer/answers/device_habits.h"
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
  const FunctionDecl *decl = functionOf(function);
  return isa<CXXConstructorDecl>(decl) ||
         // Nobody else can call it.
         (isCalledByConstructors(function) && decl->getAccess() == AS_private &&
          !cast<CXXMethodDecl>(decl)->getParent()->hasFriends());
}

static bool movesModule(const FunctionDecl *function) {
  return contains(function->getBody(), [](const Stmt *part) {
    const auto *call = dyn_cast<CXXMemberCallExpr>(part);
    const llvm::StringRef name = call ? nameOf(call->getMethodDecl()) : llvm::StringRef();
    return (name == "to" || name == "cuda") &&
           !isTensor(call->getImplicitObjectArgument()->getType());
  });
}

bool SourceProgram::isCalledByConstructors(Function function) {
  const auto *method = dyn_cast<CXXMethodDecl>(functionOf(function));
  const llvm::ArrayRef<FileScan::Caller> callers = model_->callersOf(functionOf(function));
  // LibTorch's holders call forward().
  return method && !method->isVirtual() && nameOf(method) != "forward" && !callers.empty() &&
         llvm::all_of(callers, [&](const FileScan::Caller &caller) {
           const auto *constructor = dyn_cast<CXXConstructorDecl>(caller.function);
           return constructor && constructor->getParent() == method->getParent() &&
                  !movesModule(constructor);
         });
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

static bool takesForChange(QualType type) {
  return type->isLValueReferenceType() && !type->getPointeeType().isConstQualified();
}

static unsigned mentionsOf(const Stmt *statement, const ValueDecl *decl) {
  unsigned mentions = 0;
  contains(statement, [&](const Stmt *part) {
    const auto *name = dyn_cast<DeclRefExpr>(part);
    mentions += name && name->getDecl() == decl;
    return false;
  });
  return mentions;
}

static constexpr unsigned kMaxOutputDepth = 3;

// By the first statement of the body that mentions it, which has to run always.
static bool isOutputOf(const FunctionDecl *function, const ValueDecl *decl, unsigned depth) {
  const auto *body = dyn_cast_or_null<CompoundStmt>(function->getBody());
  if (!body || !takesForChange(decl->getType()))
    return false;
  const auto first =
      llvm::find_if(body->body(), [&](const Stmt *part) { return mentionsOf(part, decl) > 0; });
  const auto *expr = first == body->body_end() ? nullptr : dyn_cast<Expr>(*first);
  const auto *call = expr ? dyn_cast<CallExpr>(expr->IgnoreImplicit()) : nullptr;
  if (!call || mentionsOf(call, decl) != 1)
    return false;
  const auto is_it = [&](const Expr *argument) {
    const auto *name = dyn_cast<DeclRefExpr>(strip(argument));
    return name && name->getDecl() == decl;
  };
  if (const auto *set = dyn_cast<CXXOperatorCallExpr>(call))
    return set->getOperator() == OO_Equal && set->getNumArgs() == 2 && is_it(set->getArg(0));
  const FunctionDecl *callee = call->getDirectCallee();
  const auto place = llvm::find_if(call->arguments(), is_it) - call->arg_begin();
  if (!callee || isLibraryDecl(callee) || place >= std::ptrdiff_t(callee->getNumParams()) ||
      !takesForChange(callee->getParamDecl(place)->getType()))
    return false;
  const FunctionDecl *definition = nullptr;
  if (depth > 0 && callee->hasBody(definition))
    return isOutputOf(definition, definition->getParamDecl(place), depth - 1);
  // What that gives is the caller's alone.
  return mentionsOf(body, decl) == 1;
}

bool SourceProgram::isOutput(Function function, Variable parameter) {
  return isOutputOf(functionOf(function), declOf(parameter), kMaxOutputDepth);
}

Role SourceProgram::role(Variable variable) {
  const ValueDecl *decl = declOf(variable);
  if (const auto *parameter = dyn_cast_or_null<ParmVarDecl>(decl)) {
    const auto *method = dyn_cast<CXXMethodDecl>(parameter->getDeclContext());
    return method && method->getParent()->isLambda() ? Role::kLambdaParameter : Role::kParameter;
  }
  if (isa_and_nonnull<FieldDecl>(decl))
    return Role::kMember;
  const auto *local = dyn_cast_or_null<VarDecl>(decl);
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
  return variable ? typeOf(declOf(variable)->getType()) : Type::kOther;
}

Code SourceProgram::initialiser(Variable variable) {
  const auto *decl = dyn_cast_or_null<VarDecl>(declOf(variable));
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

static DynTypedNode parentOf(ASTContext &context, const Stmt *child) {
  DynTypedNodeList parents = context.getParents(*child);
  if (!parents.empty() && parents[0].get<VarDecl>())
    parents = context.getParents(parents[0]);
  return parents.empty() ? DynTypedNode() : parents[0];
}

bool SourceProgram::isOnEveryTurn(Code code) {
  const Stmt *loop = model_->loopAround(exprOf(code));
  const Stmt *child = exprOf(code);
  while (loop && child != loop) {
    child = parentOf(context(), child).get<Stmt>();
    if (!child || isa<IfStmt, SwitchStmt, AbstractConditionalOperator>(child))
      return false;
  }
  return loop != nullptr;
}

bool SourceProgram::isUnconditional(Code code) {
  const Stmt *child = exprOf(code);
  while (true) {
    const DynTypedNode parent = parentOf(context(), child);
    child = parent.get<Stmt>();
    if (!child)
      return parent.get<FunctionDecl>() != nullptr;
    if (isa<IfStmt, SwitchStmt, AbstractConditionalOperator, ForStmt, CXXForRangeStmt, WhileStmt,
            DoStmt, LambdaExpr>(child))
      return false;
  }
}

bool SourceProgram::isInBranch(Code code) {
  const Stmt *child = exprOf(code);
  for (DynTypedNode node = DynTypedNode::create(*child);;) {
    const DynTypedNodeList parents = context().getParents(node);
    if (parents.empty() || parents[0].get<FunctionDecl>())
      return false;
    node = parents[0];
    if (const auto *branch = node.get<IfStmt>(); branch && child != branch->getCond())
      return true;
    if (const auto *choice = node.get<AbstractConditionalOperator>();
        choice && child != choice->getCond())
      return true;
    if (node.get<SwitchStmt>())
      return true;
    if (const auto *statement = node.get<Stmt>())
      child = statement;
  }
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

} // namespace devsan::analyzer
