// What conditions tell on each way out of them.
#include "analyzer/model/flow_transfer.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"

namespace devsan::analyzer {

using namespace clang;

// The call that `x.get_device()` or `x.device().index()` is; null for anything else.
static const Expr *askedForIndex(const Expr *expr) {
  const Expr *receiver = receiverOf(expr);
  const FunctionDecl *callee = calleeOf(expr);
  if (!receiver || !isTorchDecl(callee))
    return nullptr;
  bool asks = (nameOf(callee) == "get_device" && isTensor(receiver->getType())) ||
              (nameOf(callee) == "index" && isDevice(receiver->getType()));
  return asks ? receiver : nullptr;
}

// A number or truth kept in a variable that is never written again is what it was made of.
const Expr *Flow::resolveVariable(const Expr *expr) const {
  expr = strip(expr);
  const auto *reference = dyn_cast<DeclRefExpr>(expr);
  const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  if (!variable || !variable->isLocalVarDecl() || !variable->getInit() ||
      !variable->getType()->isIntegralOrEnumerationType())
    return expr;
  if (!constants_) {
    constants_.emplace();
    std::set<const VarDecl *> written;
    // Whoever reads a number loads it; any other mention may write it.
    auto collect = [&](auto &&self, const Stmt *statement) -> void {
      if (const auto *cast = dyn_cast<ImplicitCastExpr>(statement);
          cast && cast->getCastKind() == CK_LValueToRValue &&
          isa<DeclRefExpr>(cast->getSubExpr()->IgnoreParens()))
        return;
      if (const auto *lambda = dyn_cast<LambdaExpr>(statement))
        return self(self, lambda->getBody());
      if (const auto *mention = dyn_cast<DeclRefExpr>(statement))
        if (const auto *mentioned = dyn_cast<VarDecl>(mention->getDecl()))
          written.insert(mentioned);
      if (const auto *declaration = dyn_cast<DeclStmt>(statement))
        for (const Decl *decl : declaration->decls())
          if (const auto *local = dyn_cast<VarDecl>(decl);
              local && local->getInit() && !names(local->getInit(), local))
            constants_->try_emplace(local, local->getInit());
      for (const Stmt *child : statement->children())
        if (child)
          self(self, child);
    };
    if (const Stmt *body = functionOf(facts_.function)->getBody())
      collect(collect, body);
    for (const VarDecl *local : written)
      constants_->erase(local);
  }
  auto found = constants_->find(variable);
  return found == constants_->end() ? expr : strip(found->second);
}

void Flow::refine(State &state, const Expr *condition, bool truth) const {
  condition = resolveVariable(condition);
  if (const auto *negation = dyn_cast<UnaryOperator>(condition);
      negation && negation->getOpcode() == UO_LNot)
    return refine(state, negation->getSubExpr(), !truth);
  if (const auto *binary = dyn_cast<BinaryOperator>(condition)) {
    bool both =
        (binary->getOpcode() == BO_LAnd && truth) || (binary->getOpcode() == BO_LOr && !truth);
    if (both) {
      refine(state, binary->getLHS(), truth);
      refine(state, binary->getRHS(), truth);
    } else if (binary->isComparisonOp()) {
      if (binary->isEqualityOp())
        refineEquality(state, binary->getLHS(), binary->getRHS(),
                       (binary->getOpcode() == BO_EQ) == truth);
      refineIndex(state, binary, truth);
    }
    return;
  }
  const auto *call = dyn_cast<CallExpr>(condition);
  if (!call)
    return;
  if (call->getBuiltinCallee() && nameOf(call->getDirectCallee()) == "__builtin_expect")
    return refine(state, call->getArg(0), truth);
  if (const auto *op = dyn_cast<CXXOperatorCallExpr>(call)) {
    bool equal = op->getOperator() == OO_EqualEqual;
    if ((equal || op->getOperator() == OO_ExclaimEqual) && op->getNumArgs() == 2)
      refineEquality(state, op->getArg(0), op->getArg(1), equal == truth);
    return;
  }
  // Of a tensor, its device or its old type.
  const Expr *receiver = receiverOf(call);
  if (!receiver || !call->getDirectCallee() || !isTorchDecl(call->getDirectCallee()))
    return;
  llvm::StringRef name = nameOf(call->getDirectCallee());
  const bool accelerator =
      name == "is_cuda" || name == "is_mps" || name == "is_xpu" || name == "is_hip";
  // Not on the accelerator that the function is about: what is left is the host.
  if ((name == "is_cpu" && truth) || (accelerator && !truth))
    refineToHost(state, receiver);
  else if (name == "is_cpu" || accelerator)
    refineOffHost(state, receiver);
}

// What runs only on a machine that has no GPU has no bug that a GPU shows.
bool Flow::meansNoGpu(const Expr *condition, bool truth) const {
  condition = resolveVariable(condition);
  if (const auto *negation = dyn_cast<UnaryOperator>(condition);
      negation && negation->getOpcode() == UO_LNot)
    return meansNoGpu(negation->getSubExpr(), !truth);
  if (const auto *binary = dyn_cast<BinaryOperator>(condition); binary && binary->isLogicalOp())
    return (binary->getOpcode() == BO_LAnd) == truth &&
           (meansNoGpu(binary->getLHS(), truth) || meansNoGpu(binary->getRHS(), truth));
  const auto *call = dyn_cast<CallExpr>(condition);
  const FunctionDecl *asked = call ? call->getDirectCallee() : nullptr;
  if (!asked || truth || !isTorchDecl(asked))
    return false;
  if (nameOf(asked) == "hasCUDA")
    return true;
  const auto *space = dyn_cast<NamespaceDecl>(asked->getDeclContext());
  return nameOf(asked) == "is_available" && space && space->getName() == "cuda";
}

void Flow::refineEquality(State &state, const Expr *left, const Expr *right, bool equal) const {
  // Equal indices are taken for equal devices.
  left = resolveVariable(left);
  right = resolveVariable(right);
  const Expr *left_index = askedForIndex(left), *right_index = askedForIndex(right);
  if (left_index && right_index) {
    left = left_index;
    right = right_index;
  }
  // x.device().type() keeps x's place; kCPU is the host, any other constant a device.
  auto valueOf = [&](const Expr *expr) {
    expr = strip(expr);
    bool known = !expr->getType().isNull() && !expr->isTypeDependent();
    return (known ? constantDevice(expr) : std::nullopt).value_or(facts_.value(expr));
  };
  Value a = valueOf(left), b = valueOf(right);
  auto names = [&](const Expr *expr) {
    return namesDevice(expr->getType()) || isTensor(expr->getType());
  };
  if (!names(left) || !names(right))
    return;
  if (!a.place.is(Place::Kind::kOf)) {
    std::swap(a, b);
    std::swap(left, right);
  }
  if (!a.place.is(Place::Kind::kOf))
    return;
  if (b.place.is(Place::Kind::kOf)) {
    // x.device().type() == y.device().type() is enough: it is asked who is on the host.
    if (equal && a.place != b.place)
      state.same.insert(std::minmax(a.place.of, b.place.of));
  } else if (b.place.is(Place::Kind::kHost) ? equal
                                            : b.place.is(Place::Kind::kIndexless) && !equal) {
    refineToHost(state, left);
  } else if (b.place.is(Place::Kind::kHost) || (b.place.is(Place::Kind::kIndexless) && equal)) {
    refineOffHost(state, left);
  }
}

void Flow::refineSwitch(State &state, const SwitchStmt *branch, const Stmt *label) const {
  if (const auto *taken = dyn_cast_or_null<CaseStmt>(label)) {
    if (!taken->caseStmtIsGNURange())
      refineEquality(state, branch->getCond(), taken->getLHS(), true);
    return;
  }
  // The default, or past the switch: none of the cases.
  for (const SwitchCase *other = branch->getSwitchCaseList(); other;
       other = other->getNextSwitchCase())
    if (const auto *excluded = dyn_cast<CaseStmt>(other))
      refineEquality(state, branch->getCond(), excluded->getLHS(), false);
}

// The host's tensors have index -1, all others one from 0 on.
void Flow::refineIndex(State &state, const BinaryOperator *comparison, bool truth) const {
  const Expr *left = resolveVariable(comparison->getLHS());
  const Expr *right = resolveVariable(comparison->getRHS());
  BinaryOperatorKind opcode = comparison->getOpcode();
  const Expr *asked = askedForIndex(left);
  if (!asked) {
    std::swap(left, right);
    asked = askedForIndex(left);
    opcode = opcode == BO_LT   ? BO_GT
             : opcode == BO_GT ? BO_LT
             : opcode == BO_LE ? BO_GE
             : opcode == BO_GE ? BO_LE
                               : opcode;
  }
  Expr::EvalResult result;
  if (!asked || !isTensor(asked->getType()) || right->isValueDependent() ||
      !right->EvaluateAsInt(result, context_))
    return;
  const std::int64_t limit = result.Val.getInt().getExtValue();
  auto holds = [&](std::int64_t index) {
    switch (opcode) {
    case BO_LT:
      return index < limit;
    case BO_LE:
      return index <= limit;
    case BO_GT:
      return index > limit;
    case BO_GE:
      return index >= limit;
    case BO_EQ:
      return index == limit;
    default:
      return index != limit;
    }
  };
  if (holds(-1) == truth && holds(0) != truth && holds(INT8_MAX) != truth)
    refineToHost(state, asked);
}

void Flow::refineToHost(State &state, const Expr *expr) const {
  Place known = facts_.value(expr).place;
  std::optional<Path> named = path(expr);
  // The variable may be another tensor by now, where the condition was kept in a variable.
  if (named && load(*named).place == known)
    return refineToHost(state, *named, known);
  if (known.is(Place::Kind::kOf))
    refineToHost(state, known.of, known);
}

// All that is where `known` is, that of `named` included.
void Flow::refineToHost(State &state, const Path &named, const Place &known) const {
  if (named.root || !named.fields.empty()) {
    Value value = known.is(Place::Kind::kOf) && known.of == named ? defaultOf(named) : load(named);
    value.place = Place::host();
    auto [there, added] = state.values.try_emplace(named, value);
    if (!added)
      there->second.place = Place::host();
  }
  if (!known.is(Place::Kind::kOf))
    return;
  std::set<Path> places;
  llvm::SmallVector<Path, 4> pending{known.of};
  while (!pending.empty()) {
    Path place = pending.pop_back_val();
    if (!places.insert(place).second)
      continue;
    for (const auto &[one, other] : state.same)
      if (one == place || other == place)
        pending.push_back(one == place ? other : one);
  }
  for (const Path &place : places) {
    Value source = defaultOf(place);
    source.place = Place::host();
    state.values.try_emplace(place, source);
  }
  for (auto &[where, value] : state.values)
    if (value.place.is(Place::Kind::kOf) && places.contains(value.place.of))
      value.place = Place::host();
}

// The tensor that is asked, or whose device is.
void Flow::refineOffHost(State &state, const Expr *expr) const {
  const Value known = facts_.value(expr);
  std::optional<Path> tensor = path(expr);
  if (!tensor && known.place.is(Place::Kind::kOf))
    tensor = known.place.of;
  if (!tensor || load(*tensor).place != known.place)
    return;
  Value checked = load(*tensor);
  checked.off_host = true;
  state.values.insert_or_assign(*tensor, checked);
}

// Only host memory can be read through an accessor, so the program relies on the tensor being
// there.
void Flow::relyOnHost(const Expr *tensor) {
  std::optional<Path> named = path(tensor);
  if (!named)
    return;
  Place known = load(*named).place;
  const ValueDecl *source = declOf(known.of.last());
  bool given = known.is(Place::Kind::kOf) && source && holdsTensor(source->getType());
  if (given || !known.maybeOffHost())
    refineToHost(state_, *named, known);
}

// The same in code that runs here: a lambda that is called where it stands.
void Flow::relyOnHostIn(const Stmt *code) {
  if (const auto *call = dyn_cast<CXXMemberCallExpr>(code);
      call && nameOf(call->getDirectCallee()) == "accessor" && receiverOf(call) &&
      isTensor(receiverOf(call)->getType()))
    relyOnHost(receiverOf(call));
  for (const Stmt *child : code->children())
    if (child)
      relyOnHostIn(child);
}

} // namespace devsan::analyzer
