// The copy that an inference ends with: the program needs its answer, and waits for nothing else.
#include "analyzer/model/model.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/facts/operators.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

using Kind = Operation::Kind;

constexpr int kMaxCallers = 3; // how far a copy may be from the loop

bool mayBeOnDevice(const Value &value) {
  return !value.place.is(Place::Kind::kNone) && !value.place.onHost();
}

// `statement` is run when `copy` has been, or takes what that gives.
bool isAfter(const Stmt *statement, const Stmt *copy, const SourceManager &sources) {
  return statement->getEndLoc() == copy->getEndLoc()
             ? sources.isBeforeInTranslationUnit(statement->getBeginLoc(), copy->getBeginLoc())
             : sources.isBeforeInTranslationUnit(copy->getEndLoc(), statement->getEndLoc());
}

bool isLearningCall(const Stmt *part) {
  const auto *call = dyn_cast<CallExpr>(part);
  const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  return callee && (nameOf(callee) == "backward" || nameOf(callee) == "step") &&
         isTorchDecl(callee);
}

// Data of the host, or tensors: nothing that could start work.
bool isData(QualType type) {
  type = type.getNonReferenceType();
  while (type->isPointerType())
    type = type->getPointeeType();
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  return type->isArithmeticType() || type->isEnumeralType() || holdsTensor(type) ||
         (record && isInLibraryFile(record) && !isTorchDecl(record));
}

// What is called is the program's, and its body is not here.
bool isElsewhere(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  const auto *method = dyn_cast_or_null<CXXMethodDecl>(callee);
  return callee && !isInLibraryFile(callee) &&
         ((method && method->isVirtual()) || !callee->hasBody());
}

// Such a function has more than data to work with: an object, what it is given, what it keeps.
bool mayStartWork(const CallExpr *call) {
  const auto arguments = argumentsOf(call);
  return isElsewhere(call) &&
         (receiverOf(call) || arguments.empty() ||
          llvm::any_of(arguments, [](const Expr *given) { return !isData(given->getType()); }));
}

// A std::function or a pointer to a function is called, which may do anything.
bool callsHeldFunction(const Stmt *part) {
  const auto *call = dyn_cast<CallExpr>(part);
  if (!call || call->isTypeDependent())
    return false;
  if (const FunctionDecl *callee = call->getDirectCallee())
    return callee->getOverloadedOperator() == OO_Call && ownerOf(callee) &&
           ownerOf(callee)->isInStdNamespace();
  const QualType type = call->getCallee()->getType();
  return type->isFunctionPointerType() || type->isFunctionType();
}

// `backward(loss)` of another file.
bool mayTrainElsewhere(const Operation *operation) {
  const auto *call =
      operation->kind == Kind::kCall ? dyn_cast<CallExpr>(exprOf(operation->expr)) : nullptr;
  return call && isElsewhere(call) &&
         (mayStartWork(call) || llvm::any_of(operation->operands, [](const Operand &operand) {
            return mayBeOnDevice(operand.value);
          }));
}

// Where data comes from, as far as the operations before tell.
enum class Source { kOther, kParameter, kModule };

Source sourceOf(const Expr *data, llvm::ArrayRef<const Operation *> before,
                const FunctionFacts &facts) {
  Source found = Source::kOther;
  llvm::SmallVector<const Stmt *, 8> pending{data};
  llvm::SmallPtrSet<const Operation *, 8> followed;
  const auto isModuleCall = [&](const Stmt *part) {
    return llvm::any_of(before, [&](const Operation *operation) {
      return operation->kind == Kind::kModule && exprOf(operation->expr) == part;
    });
  };
  while (!pending.empty()) {
    const bool from_module = contains(pending.pop_back_val(), [&](const Stmt *part) {
      if (isa<CallExpr>(part))
        return isModuleCall(part);
      if (!isa<DeclRefExpr, MemberExpr>(part))
        return false;
      const std::optional<Path> path = facts.path(cast<Expr>(part));
      if (!path)
        return false;
      if (isa_and_nonnull<ParmVarDecl>(declOf(path->root)))
        found = Source::kParameter;
      for (const Operation *set : before)
        if (set->kind == Kind::kAssign && set->path &&
            (set->path->startsWith(*path) || path->startsWith(*set->path)) &&
            followed.insert(set).second)
          pending.push_back(exprOf(set->operands.front().expr));
      return false;
    });
    if (from_module)
      return Source::kModule;
  }
  return found;
}

} // namespace

bool DeviceModel::worksOnDevice(const FunctionDecl *callee) {
  const FunctionDecl *definition = nullptr;
  if (!callee || !callee->hasBody(definition) || isLibraryDecl(definition))
    return false;
  // One that calls itself does nothing more by that.
  if (const auto [known, is_new] = works_on_device_.try_emplace(definition, false); !is_new)
    return known->second;
  const FunctionFacts *facts = this->facts(definition);
  const bool works = facts && llvm::any_of(facts->operations, [&](const Operation &operation) {
                       return worksOnDevice(operation, *facts);
                     });
  works_on_device_[definition] = works;
  return works;
}

// Asks something of a device, as far as may be: starts work there, or copies from or to it.
bool DeviceModel::worksOnDevice(const Operation &operation, const FunctionFacts &facts) {
  const auto isThere = [](const Operand &operand) { return !operand.value.place.onHost(); };
  switch (operation.kind) {
  case Kind::kAssign:
  case Kind::kReturn:
    return false;
  case Kind::kWait:
    return operation.name.find("emcpy") != std::string_view::npos;
  case Kind::kFactory:
    return mayBeOnDevice(operation.result);
  case Kind::kMove:
    return !operation.target.place.onHost() || llvm::any_of(operation.operands, isThere);
  case Kind::kModule:
    return !operation.result.place.onHost();
  case Kind::kTensorOp:
    // All operands lie where one of them does.
    return llvm::any_of(operation.operands, isThere) &&
           llvm::none_of(operation.operands,
                         [](const Operand &operand) {
                           return operand.value.place.onHost() && !operand.value.zero_dim;
                         }) &&
           (holdsTensor(exprOf(operation.expr)->getType()) ||
            !operation.result.place.is(Place::Kind::kNone) || readsData(operation.name)) &&
           !givesMemory(operation.name);
  case Kind::kCall:
    return llvm::any_of(operation.operands, isThere) ||
           (holdsTensor(exprOf(operation.expr)->getType()) &&
            mayBeOnDevice(facts.value(operation.expr))) ||
           mayStartWork(cast<CallExpr>(exprOf(operation.expr))) ||
           worksOnDevice(calleeOf(exprOf(operation.expr)));
  case Kind::kGather:
  case Kind::kLaunch:
    return true;
  }
  return true;
}

bool DeviceModel::learns(const FunctionDecl *function) {
  const auto [known, is_new] = learns_.try_emplace(function, false);
  if (is_new)
    known->second = contains(function->getBody(), isLearningCall);
  return known->second;
}

bool DeviceModel::endsInference(const Expr *copy, const FunctionDecl *function) {
  return endsInference(copy, function, {}, kMaxCallers);
}

bool DeviceModel::endsInference(const Expr *copy, const FunctionDecl *function, Ending ending,
                                int depth) {
  const FunctionFacts *facts = this->facts(function);
  // What runs after a step or an operator is not known.
  if (!facts || isStep(function) || isOperator(function) || learns(function))
    return false;
  const Stmt *loop = loopAround(copy);
  const auto isInStep = [&](const Stmt *part) {
    const Stmt *around = loop ? loopAround(part) : nullptr;
    while (around != loop && around)
      around = loopAround(around);
    return around == loop;
  };
  const SourceManager &sources = context_.getSourceManager();
  std::vector<const Operation *> before;
  // Of those after it the last ones tell most often.
  for (const Operation &operation : llvm::reverse(facts->operations)) {
    const Expr *expr = exprOf(operation.expr);
    if (expr == copy)
      continue;
    if (!isAfter(expr, copy, sources))
      before.push_back(&operation);
    else if (worksOnDevice(operation, *facts) && isInStep(expr))
      return false;
  }
  if (contains(loop ? loop : function->getBody(), [&](const Stmt *part) {
        return callsHeldFunction(part) && isAfter(part, copy, sources);
      }))
    return false;
  std::reverse(before.begin(), before.end());
  llvm::erase_if(before,
                 [&](const Operation *operation) { return !isInStep(exprOf(operation->expr)); });
  const Source source = ending.follows_model ? Source::kModule : sourceOf(copy, before, *facts);
  ending.follows_model = source == Source::kModule;
  ending.evaluates |= gradOff(copy) || !trainingMode(copy).value_or(true);
  ending.may_train |= scan().trains || llvm::any_of(before, mayTrainElsewhere);
  const bool ends = ending.follows_model && (ending.evaluates || !ending.may_train);
  if (loop || source == Source::kOther || depth == 0)
    return ends;
  bool is_called = false;
  for (const FileScan::Caller &caller : scan().callers.lookup(function->getCanonicalDecl())) {
    if (caller.function->getCanonicalDecl() == function->getCanonicalDecl() ||
        everyStep(caller.call, caller.function).empty())
      continue;
    if (!endsInference(cast<Expr>(caller.call), caller.function, ending, depth - 1))
      return false;
    is_called = true;
  }
  return is_called || ends;
}

} // namespace devsan::analyzer
