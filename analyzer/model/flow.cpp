#include "analyzer/model/flow.h"

#include "analyzer/ast/torch_api.h"
#include "analyzer/model/flow_transfer.h"

#include <clang/AST/StmtCXX.h>
#include <clang/Analysis/CFG.h>

#include <queue>

namespace devsan::analyzer {

using namespace clang;

namespace {

// The lattice is finite, but origins make it deep; a block that has not settled by then keeps what
// it has.
constexpr unsigned kMaxVisits = 10;

// Steps of work for one function, a step being an expression evaluated or a variable carried from
// one block to the next: about a second. Generated code is longer now and then, and nobody reads
// findings in it.
constexpr std::size_t kBudget = 4'000'000;

// What the blocks of one function may remember of variables, some 200 bytes each.
constexpr std::size_t kMaxRemembered = 500'000;

// A tensor of a batch as it comes from a DataLoader.
bool isOfBatch(const Path &path) {
  return llvm::any_of(path.fields, [](const FieldDecl *field) {
    return isExample(dyn_cast<CXXRecordDecl>(field->getParent()));
  });
}

Value defaultOf(const Path &path) {
  const ValueDecl *decl = path.fields.empty() ? path.root : path.fields.back();
  if (!decl)
    return {};
  QualType type = decl->getType();
  if (!holdsTensor(type) && !namesDevice(type) && !isModule(type))
    return {};
  const auto *variable = dyn_cast_or_null<VarDecl>(path.root);
  bool local = variable && variable->isLocalVarDecl() && !variable->isStaticLocal();
  Value value;
  value.place = isOfBatch(path)       ? Place::host()
                : !local              ? Place::deviceOf(path)
                : path.fields.empty() ? Place::none()
                                      : Place::elsewhere(path);
  return value;
}

bool joinInto(State &into, const State &from) {
  if (!into.reached) {
    into = from;
    into.reached = true;
    return true;
  }
  State before = into;
  for (const auto &[path, value] : from.values) {
    auto found = into.values.find(path);
    if (found == into.values.end())
      into.values[path] = join(defaultOf(path), value);
    else
      found->second = join(found->second, value);
  }
  for (auto &[path, value] : into.values)
    if (!from.values.contains(path))
      value = join(value, defaultOf(path));
  into.moved.insert(from.moved.begin(), from.moved.end());
  into.replaced.insert(from.replaced.begin(), from.replaced.end());
  std::erase_if(into.same, [&](const auto &pair) { return !from.same.contains(pair); });
  return !(into == before);
}

// A loop over something of a type that is not known yet has neither a condition nor a step, without
// which clang makes no graph. It has unknown ones for as long as this lives.
class UnknownSteps {
public:
  UnknownSteps(Stmt *body, ASTContext &context) : context_(context) { fill(body); }
  ~UnknownSteps() {
    for (CXXForRangeStmt *loop : filled_) {
      loop->setBeginStmt(nullptr);
      loop->setEndStmt(nullptr);
      loop->setCond(nullptr);
      loop->setInc(nullptr);
    }
  }
  UnknownSteps(const UnknownSteps &) = delete;
  UnknownSteps &operator=(const UnknownSteps &) = delete;

private:
  void fill(Stmt *statement) {
    for (Stmt *child : statement->children())
      if (child)
        fill(child);
    auto *loop = dyn_cast<CXXForRangeStmt>(statement);
    if (!loop || loop->getCond() || loop->getInc() || loop->getBeginStmt() || loop->getEndStmt())
      return;
    const SourceLocation location = loop->getColonLoc();
    auto *range = const_cast<VarDecl *>(cast<VarDecl>(loop->getRangeStmt()->getSingleDecl()));
    const auto unknown = [&] {
      return DeclRefExpr::Create(context_, {}, {}, range, false, location,
                                 range->getType().getNonReferenceType(), VK_LValue);
    };
    const auto nothing = [&] {
      Decl *empty = EmptyDecl::Create(context_, context_.getTranslationUnitDecl(), location);
      return new (context_) DeclStmt(DeclGroupRef(empty), location, location);
    };
    loop->setBeginStmt(nothing());
    loop->setEndStmt(nothing());
    loop->setCond(unknown());
    loop->setInc(unknown());
    filled_.push_back(loop);
  }

  ASTContext &context_;
  std::vector<CXXForRangeStmt *> filled_;
};

std::unique_ptr<CFG> buildGraph(const FunctionDecl *function, Stmt *body, ASTContext &context) {
  CFG::BuildOptions options;
  options.setAllAlwaysAdd();
  options.AddInitializers = true;
  options.AddCXXDefaultInitExprInCtors = true;
  options.PruneTriviallyFalseEdges = false;
  const UnknownSteps steps(body, context);
  return CFG::buildCFG(function, body, &context, options);
}

} // namespace

llvm::SmallVector<Value, 4> valuesOf(llvm::ArrayRef<Operand> operands) {
  llvm::SmallVector<Value, 4> values;
  for (const Operand &operand : operands)
    values.push_back(operand.value);
  return values;
}

Value FunctionFacts::value(const Expr *expr) const {
  auto found = values_.find(strip(expr));
  return found == values_.end() ? Value() : found->second;
}

Flow::Flow(FunctionFacts &facts, ASTContext &context, const FlowOptions &options)
    : facts_(facts), context_(context), options_(options), budget_(kBudget) {}

bool Flow::run(const FunctionDecl *function, Stmt *body, State entry) {
  std::unique_ptr<CFG> graph = buildGraph(function, body, context_);
  if (!graph)
    return in_lambda_;
  auto spend = [&](std::size_t steps) {
    budget_ -= std::min(budget_, steps);
    return budget_ > 0;
  };
  llvm::DenseMap<unsigned, State> entries;
  llvm::DenseMap<unsigned, unsigned> visits;
  std::size_t remembered = 0;
  // Blocks are numbered against the flow: high numbers first visits a block after its predecessors,
  // loops aside.
  std::priority_queue<unsigned> pending;
  std::vector<const CFGBlock *> blocks(graph->getNumBlockIDs());
  for (const CFGBlock *block : *graph)
    blocks[block->getBlockID()] = block;
  entry.reached = true;
  entries[graph->getEntry().getBlockID()] = std::move(entry);
  pending.push(graph->getEntry().getBlockID());
  std::set<unsigned> queued{graph->getEntry().getBlockID()};
  while (!pending.empty()) {
    unsigned id = pending.top();
    pending.pop();
    queued.erase(id);
    if (++visits[id] > kMaxVisits)
      continue;
    state_ = entries[id];
    if (!spend(blocks[id]->size() + state_.values.size() * (1 + blocks[id]->succ_size())))
      return false;
    // What comes before a loop is visited before it, so the first visit is the loop's first turn.
    first_visit_ = visits[id] == 1;
    transferBlock(*blocks[id]);
    first_visit_ = false;
    unsigned way = 0;
    for (const CFGBlock::AdjacentBlock &edge : blocks[id]->succs()) {
      const CFGBlock *next = edge.getReachableBlock();
      unsigned taken = way++;
      // A failed check is no way out of the function that its caller continues from.
      if (!next || (next == &graph->getExit() && blocks[id]->hasNoReturnElement()))
        continue;
      State out = state_;
      if (const Stmt *condition = blocks[id]->getTerminatorCondition(false);
          condition && blocks[id]->succ_size() == 2 && isa<Expr>(condition))
        refine(out, cast<Expr>(condition), taken == 0);
      if (const auto *branch = dyn_cast_or_null<SwitchStmt>(blocks[id]->getTerminatorStmt()))
        refineSwitch(out, branch, next->getLabel());
      State &met = entries[next->getBlockID()];
      std::size_t before = met.values.size();
      bool changed = joinInto(met, out);
      remembered += met.values.size() - before;
      if (remembered > kMaxRemembered)
        return false;
      if (changed && queued.insert(next->getBlockID()).second)
        pending.push(next->getBlockID());
    }
  }
  recording_ = true;
  for (unsigned id = blocks.size(); id-- > 0;) {
    if (!blocks[id] || !entries.contains(id) || !entries[id].reached)
      continue;
    state_ = entries[id];
    if (!spend(blocks[id]->size() + state_.values.size()))
      return false;
    transferBlock(*blocks[id]);
  }
  if (!in_lambda_)
    facts_.exit = entries[graph->getExit().getBlockID()];
  recording_ = false;
  for (auto &[lambda, state] : std::exchange(lambdas_, {})) {
    Flow nested(facts_, context_, options_);
    nested.in_lambda_ = true;
    nested.budget_ = budget_;
    if (!nested.run(lambda->getCallOperator(), lambda->getBody(), std::move(state)))
      return false;
    budget_ = nested.budget_;
  }
  return true;
}

void Flow::transferBlock(const CFGBlock &block) {
  for (const CFGElement &element : block) {
    if (auto initializer = element.getAs<CFGInitializer>()) {
      const CXXCtorInitializer *member = initializer->getInitializer();
      if (member->isAnyMemberInitializer() && member->getInit())
        assign(Path{nullptr, {member->getAnyMember()}}, member->getInit(), member->getInit());
    } else if (auto statement = element.getAs<CFGStmt>()) {
      transfer(statement->getStmt());
    }
  }
}

void Flow::transfer(const Stmt *statement) {
  if (const auto *declaration = dyn_cast<DeclStmt>(statement)) {
    for (const Decl *decl : declaration->decls())
      if (const auto *variable = dyn_cast<VarDecl>(decl))
        declare(variable);
  } else if (const auto *result = dyn_cast<ReturnStmt>(statement)) {
    if (recording_ && result->getRetValue())
      recordReturn(result->getRetValue());
  } else if (const auto *lambda = dyn_cast<LambdaExpr>(statement)) {
    if (recording_)
      lambdas_.emplace_back(lambda, state_);
  } else if (const auto *expr = dyn_cast<Expr>(statement)) {
    if (strip(expr) == expr)
      facts_.values_[expr] = evaluate(expr);
  }
}

void Flow::declare(const VarDecl *variable) {
  const Expr *init = variable->getInit();
  if (!init || init->getType().isNull()) {
    state_.values.erase(Path{variable, {}});
    return;
  }
  if (variable->getType()->isReferenceType() || variable->isImplicit())
    if (std::optional<Path> target = path(init)) {
      facts_.aliases_[variable] = *target;
      return;
    }
  assign(Path{variable, {}}, init, init);
}

void Flow::assign(const Path &path, const Expr *value, const Expr *at) {
  Value assigned = facts_.value(value);
  // What was known of the old value's members goes with it.
  for (auto it = state_.values.upper_bound(path);
       it != state_.values.end() && it->first.startsWith(path);)
    it = state_.values.erase(it);
  // Most variables are numbers, of which there is nothing to remember.
  if (assigned == defaultOf(path))
    state_.values.erase(path);
  else
    state_.values[path] = assigned;
  replaceByAssignment(path, value);
  if (recording_)
    facts_.operations.push_back({Operation::Kind::kAssign,
                                 at,
                                 "operator=",
                                 nullptr,
                                 {},
                                 {{value, assigned}},
                                 assigned,
                                 path});
}

Value Flow::load(const Path &path) const {
  auto found = state_.values.find(path);
  if (found != state_.values.end())
    return found->second;
  // A member of a value that was followed lives where the value does: the tensors of a struct, a
  // vector, a module.
  for (Path outer = path; !outer.fields.empty();) {
    outer.fields.pop_back();
    auto whole = state_.values.find(outer);
    if (whole != state_.values.end() && !whole->second.place.is(Place::Kind::kNone) &&
        !whole->second.place.is(Place::Kind::kElsewhere) &&
        (whole->second.place.maybeOffHost() || !isOfBatch(path)))
      return whole->second;
  }
  return defaultOf(path);
}

std::optional<Path> FunctionFacts::path(const Expr *expr) const {
  expr = strip(expr);
  if (!expr)
    return std::nullopt;
  if (isa<CXXThisExpr>(expr))
    return Path{};
  if (const auto *reference = dyn_cast<DeclRefExpr>(expr)) {
    const auto *variable = dyn_cast<ValueDecl>(reference->getDecl());
    // A member of what is taken apart, or what `get` gives of it.
    if (const auto *part = dyn_cast<BindingDecl>(variable); part && part->getBinding())
      return path(part->getBinding());
    if (!isa_and_nonnull<VarDecl, BindingDecl>(variable))
      return std::nullopt;
    auto alias = aliases_.find(variable);
    return alias != aliases_.end() ? alias->second : Path{variable, {}};
  }
  if (const auto *member = dyn_cast<MemberExpr>(expr)) {
    const auto *field = dyn_cast<FieldDecl>(member->getMemberDecl());
    std::optional<Path> base = field ? path(member->getBase()) : std::nullopt;
    if (base)
      base->fields.push_back(field);
    return base;
  }
  if (const auto *unary = dyn_cast<UnaryOperator>(expr);
      unary && (unary->getOpcode() == UO_Deref || unary->getOpcode() == UO_AddrOf))
    return path(unary->getSubExpr());
  if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(expr))
    return path(subscript->getBase());
  const Expr *object = receiverOf(expr);
  // An assignment is the variable that it sets: register_buffer("b", b_ = …).
  if (const auto *op = dyn_cast<CXXOperatorCallExpr>(expr);
      object && op && op->getOperator() == OO_Equal && isa<DeclRefExpr, MemberExpr>(strip(object)))
    return path(object);
  if (!object || isTensor(object->getType()))
    return std::nullopt;
  if (const auto *op = dyn_cast<CXXOperatorCallExpr>(expr)) {
    bool reaches = op->getOperator() == OO_Arrow || op->getOperator() == OO_Star ||
                   op->getOperator() == OO_Subscript;
    return reaches ? path(object) : std::nullopt;
  }
  static const llvm::StringRef kReach[] = {"get",  "ptr",   "value", "at", "front",
                                           "back", "begin", "end",   "as"};
  return llvm::is_contained(kReach, nameOf(calleeOf(expr))) ? path(object) : std::nullopt;
}

std::optional<Path> Flow::path(const Expr *expr) const {
  return facts_.path(expr);
}

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
          if (const auto *local = dyn_cast<VarDecl>(decl); local && local->getInit())
            constants_->try_emplace(local, local->getInit());
      for (const Stmt *child : statement->children())
        if (child)
          self(self, child);
    };
    if (facts_.function->getBody())
      collect(collect, facts_.function->getBody());
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
  const ValueDecl *source = known.of.fields.empty() ? known.of.root : known.of.fields.back();
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

std::unique_ptr<FunctionFacts> analyseFunction(const FunctionDecl *function, ASTContext &context,
                                               const FlowOptions &options) {
  if (!function->doesThisDeclarationHaveABody() || !function->getBody())
    return nullptr;
  auto facts = std::make_unique<FunctionFacts>();
  facts->function = function;
  State entry;
  if (options.assume_moved)
    entry.moved[*options.assume_moved] = nullptr;
  for (const Path &path : options.on_host)
    entry.values[path].place = Place::host();
  if (!Flow(*facts, context, options).run(function, function->getBody(), std::move(entry)))
    return nullptr;
  return facts;
}

} // namespace devsan::analyzer
