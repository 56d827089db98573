#include "analyzer/model/cuda/library_handles.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/cuda_api.h"
#include "analyzer/ast/device_guards.h"
#include "analyzer/ast/torch_api.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

// cublasCreate(&handle): a function of CUDA's that gives a handle away.
bool createsHandle(const FunctionDecl *function) {
  if (!function || !isCudaApi(function) || function->getNumParams() == 0)
    return false;
  const QualType type = function->getParamDecl(0)->getType();
  return type->isPointerType() && isLibraryHandle(type->getPointeeType());
}

// Part of the statement each time that it runs: not below an `if`, in a loop or in a lambda.
bool containsAlways(const Stmt *statement, llvm::function_ref<bool(const Stmt *)> test) {
  if (!statement || isa<LambdaExpr, ForStmt, WhileStmt, CXXForRangeStmt, SwitchStmt>(statement))
    return false;
  if (test(statement))
    return true;
  if (const auto *branch = dyn_cast<IfStmt>(statement))
    return containsAlways(branch->getInit(), test) || containsAlways(branch->getCond(), test);
  if (const auto *choice = dyn_cast<AbstractConditionalOperator>(statement))
    return containsAlways(choice->getCond(), test);
  if (const auto *op = dyn_cast<BinaryOperator>(statement); op && op->isLogicalOp())
    return containsAlways(op->getLHS(), test);
  return llvm::any_of(statement->children(),
                      [&](const Stmt *child) { return containsAlways(child, test); });
}

// `return handle;` of a method.
const FieldDecl *returnedMember(const CXXMethodDecl *method) {
  const FunctionDecl *definition = nullptr;
  const auto *body = method && method->hasBody(definition)
                         ? dyn_cast<CompoundStmt>(definition->getBody())
                         : nullptr;
  const auto *given =
      body && body->size() == 1 ? dyn_cast<ReturnStmt>(body->body_front()) : nullptr;
  const auto *member = given && given->getRetValue()
                           ? dyn_cast<MemberExpr>(strip(given->getRetValue())->IgnoreParenCasts())
                           : nullptr;
  return member && isa<CXXThisExpr>(member->getBase()->IgnoreParenCasts())
             ? dyn_cast<FieldDecl>(member->getMemberDecl())
             : nullptr;
}

bool isSmartPointer(const CXXRecordDecl *record) {
  return record && record->isInStdNamespace() && record->getDeclName().isIdentifier() &&
         (record->getName() == "unique_ptr" || record->getName() == "shared_ptr");
}

// The variable of `h`, `h.handle`, `h.get()` and `*h`, and of an `h` that is converted.
HandlePlace placeOf(const Expr *handle) {
  handle = strip(handle)->IgnoreParenCasts();
  const FieldDecl *field = nullptr;
  const auto *call = dyn_cast<CallExpr>(handle);
  if (const auto *method =
          call ? dyn_cast_or_null<CXXMethodDecl>(call->getDirectCallee()) : nullptr;
      method && argumentsOf(call).empty() && receiverOf(call)) {
    field = returnedMember(method);
    if (!field && !isSmartPointer(method->getParent()))
      return {};
    if (isSmartPointer(method->getParent()))
      field = nullptr;
    handle = receiverOf(call);
  } else if (const auto *member = dyn_cast<MemberExpr>(handle)) {
    field = dyn_cast<FieldDecl>(member->getMemberDecl());
    if (!field || member->isArrow())
      return {};
    handle = member->getBase();
  }
  const auto *named = dyn_cast<DeclRefExpr>(strip(handle)->IgnoreParenCasts());
  const auto *variable = named ? dyn_cast<VarDecl>(named->getDecl()) : nullptr;
  return variable ? HandlePlace{variable, field} : HandlePlace{};
}

// `&handle` of cublasCreate(&handle).
const Expr *createdBy(const CallExpr *call) {
  const auto *address =
      call->getNumArgs() ? dyn_cast<UnaryOperator>(call->getArg(0)->IgnoreParenCasts()) : nullptr;
  return address && address->getOpcode() == UO_AddrOf ? address->getSubExpr()->IgnoreParenCasts()
                                                      : nullptr;
}

// `cublasHandle_t handle;`, not what may have one already.
bool startsEmpty(const VarDecl *variable) {
  const Expr *init = variable->getInit() ? variable->getInit()->IgnoreParenImpCasts() : nullptr;
  const auto *construct = dyn_cast_or_null<CXXConstructExpr>(init);
  const auto *list = dyn_cast_or_null<InitListExpr>(init);
  return !init || isa<CXXNullPtrLiteralExpr, GNUNullExpr, IntegerLiteral>(init) ||
         (construct && construct->getConstructor()->isImplicit() && construct->getNumArgs() == 0) ||
         (list && llvm::all_of(list->inits(), [](const Expr *part) {
            return isa<ImplicitValueInitExpr, CXXNullPtrLiteralExpr>(part->IgnoreParenImpCasts());
          }));
}

// The variable may get another handle: by an assignment, or where others may write to it.
bool isGivenAnother(const Stmt *body, const VarDecl *variable,
                    llvm::function_ref<bool(const CallExpr *)> is_known) {
  const auto is_it = [&](const Expr *expr) {
    expr = expr->IgnoreParenCasts();
    while (const auto *member = dyn_cast<MemberExpr>(expr))
      expr = member->getBase()->IgnoreParenCasts();
    const auto *named = dyn_cast<DeclRefExpr>(expr);
    return named && named->getDecl() == variable;
  };
  const auto may_write = [&](const Expr *argument) {
    if (argument->isLValue() && !argument->getType().isConstQualified())
      return is_it(argument);
    const auto *address = dyn_cast<UnaryOperator>(argument->IgnoreParenCasts());
    return address && address->getOpcode() == UO_AddrOf && is_it(address->getSubExpr());
  };
  return contains(body, [&](const Stmt *part) {
    if (const auto *op = dyn_cast<BinaryOperator>(part))
      return op->isAssignmentOp() && is_it(op->getLHS());
    const auto *call = dyn_cast<CallExpr>(part);
    const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    if (!call || is_known(call) || (callee && isCudaApi(callee)))
      return false;
    const Expr *receiver = isa<CXXMemberCallExpr>(call) ? receiverOf(call) : nullptr;
    return (receiver && call->getNumArgs() && may_write(receiver)) ||
           llvm::any_of(call->arguments(), may_write);
  });
}

// cublasCreate(&handle) in the function that `outer` calls, or create(&handle) where `outer` hands
// it cublasCreate.
bool createsWithin(const CallExpr *call, const Expr *outer) {
  if (createsHandle(call->getDirectCallee()))
    return true;
  const ParmVarDecl *parameter = calledParameter(call);
  const auto *made = dyn_cast<CallExpr>(outer);
  const FunctionDecl *callee = calleeOf(made);
  const unsigned index = parameter ? parameter->getFunctionScopeIndex() : 0;
  const Expr *passed = parameter && callee ? passedFor(made, callee, index) : nullptr;
  const auto *named = passed ? dyn_cast<DeclRefExpr>(strip(passed)->IgnoreParenCasts()) : nullptr;
  return named && createsHandle(dyn_cast<FunctionDecl>(named->getDecl()));
}

// The handle that the expression is: a smart pointer's is what it is made of.
const Expr *heldBy(const Expr *value) {
  value = strip(value)->IgnoreParenCasts();
  const auto *pointer = dyn_cast<CXXConstructExpr>(value);
  return pointer && pointer->getNumArgs() && isSmartPointer(pointer->getConstructor()->getParent())
             ? strip(pointer->getArg(0))->IgnoreParenCasts()
             : value;
}

// A function makes a handle each time that it runs, on the device that is current when it is
// called.
class Maker {
public:
  explicit Maker(const Expr *call) : call_(call) {
    const FunctionDecl *callee = calleeOf(call);
    const auto *method = dyn_cast_or_null<CXXMethodDecl>(callee);
    if (callee && !isLibraryDecl(callee) && !(method && method->isVirtual()) &&
        callee->hasBody(definition_) &&
        mayChooseDevice(definition_, [&](const CallExpr *part) { return creates(part); }))
      definition_ = nullptr;
  }

  // It returns it.
  bool returnsHandle() const {
    bool returns = false;
    const bool returns_other =
        definition_ && contains(body(), [&](const Stmt *part) {
          const auto *given = dyn_cast<ReturnStmt>(part);
          returns |= given != nullptr;
          return given &&
                 !(given->getRetValue() && isMadeLocal(placeOf(heldBy(given->getRetValue()))));
        });
    return returns && !returns_other;
  }

  // A constructor leaves it in that member.
  bool leavesIn(const FieldDecl *field) const {
    const auto is_it = [&](const Expr *expr) {
      const auto *member = expr ? dyn_cast<MemberExpr>(expr->IgnoreParenCasts()) : nullptr;
      return member && member->getMemberDecl() == field &&
             isa<CXXThisExpr>(member->getBase()->IgnoreParenCasts());
    };
    return definition_ &&
           containsAlways(body(),
                          [&](const Stmt *part) {
                            const auto *create = dyn_cast<CallExpr>(part);
                            return create && creates(create) && is_it(createdBy(create));
                          }) &&
           !contains(body(), [&](const Stmt *part) {
             const auto *op = dyn_cast<BinaryOperator>(part);
             return op && op->isAssignmentOp() && is_it(op->getLHS());
           });
  }

private:
  const Stmt *body() const { return definition_->getBody(); }
  bool creates(const CallExpr *call) const { return createsWithin(call, call_); }

  bool isMadeLocal(const HandlePlace &place) const {
    const auto &[variable, field] = place;
    const auto creates_part = [&](const CallExpr *part) { return creates(part); };
    return variable && !field && variable->isLocalVarDecl() && !variable->isStaticLocal() &&
           startsEmpty(variable) &&
           containsAlways(body(),
                          [&](const Stmt *part) {
                            const auto *create = dyn_cast<CallExpr>(part);
                            const Expr *created =
                                create && creates(create) ? createdBy(create) : nullptr;
                            return created && placeOf(created) == place;
                          }) &&
           !isGivenAnother(body(), variable, creates_part);
  }

  const Expr *call_;
  const FunctionDecl *definition_ = nullptr;
};

} // namespace

std::optional<unsigned> LibraryHandles::toldStream(const FunctionDecl *callee) {
  return callee->getNumParams() && isLibraryHandle(callee->getParamDecl(0)->getType())
             ? declaredStreamParameter(callee)
             : std::nullopt;
}

void LibraryHandles::noteMade(const CallExpr *call) {
  const Expr *created = createsHandle(call->getDirectCallee()) ? createdBy(call) : nullptr;
  const HandlePlace place = created ? placeOf(created) : HandlePlace{};
  if (place.first && place.first->isLocalVarDecl() && startsEmpty(place.first))
    made_.insert(place);
}

void LibraryHandles::noteDeclared(const VarDecl *variable) {
  const Expr *init = variable->getInit();
  const QualType type = variable->getType();
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  if (!variable->isLocalVarDecl() || !init || !(isLibraryHandle(type) || record))
    return;
  if (isLibraryHandle(type) || isSmartPointer(record)) {
    const Expr *held = heldBy(init);
    if ((isSmartPointer(record) && made_.contains(placeOf(held))) || Maker(held).returnsHandle())
      made_.insert({variable, nullptr});
  } else if (const auto *construct = dyn_cast<CXXConstructExpr>(strip(init))) {
    const Maker maker(construct);
    for (const FieldDecl *field : construct->getConstructor()->getParent()->fields())
      if (isLibraryHandle(field->getType()) && maker.leavesIn(field))
        made_.insert({variable, field});
  }
}

bool LibraryHandles::isOnCurrentDevice(const CallExpr *call, const CudaWork &work) const {
  const FunctionDecl *callee = calledFunction(call);
  if (call->getNumArgs() < 3 || !callee || callee->getNumParams() == 0 ||
      !isLibraryHandle(callee->getParamDecl(0)->getType()))
    return false;
  const Expr *handle = strip(call->getArg(0))->IgnoreParenCasts();
  const HandlePlace place = placeOf(handle);
  if (made_.contains(place))
    return !place.first->isStaticLocal() &&
           !isGivenAnother(work.function->getBody(), place.first, [](const CallExpr *part) {
             return createsHandle(part->getDirectCallee());
           });
  const auto initialiser = work.initialisers.find(place.first);
  if (place.first && !place.second && initialiser != work.initialisers.end())
    handle = strip(initialiser->second)->IgnoreParenCasts();
  const auto *taken = dyn_cast<CallExpr>(handle);
  return taken && asksCurrentDevice(calledFunction(taken));
}

} // namespace devsan::analyzer
