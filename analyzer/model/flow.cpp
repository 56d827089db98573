#include "analyzer/model/flow.h"

#include "analyzer/ast/torch_api.h"
#include "analyzer/model/data/data_holder.h"
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
  return llvm::any_of(path.fields, [](Variable member) {
    return isExample(dyn_cast<CXXRecordDecl>(declOf(member)->getDeclContext()));
  });
}

// What the state knows of the variable or member.
Value valueIn(const State &state, const Path &path) {
  auto found = state.values.find(path);
  if (found != state.values.end())
    return found->second;
  // A member of a value that was followed lives where the value does: the tensors of a struct, a
  // vector, a module.
  for (Path outer = path; !outer.fields.empty();) {
    outer.fields.pop_back();
    auto whole = state.values.find(outer);
    if (whole != state.values.end() && !whole->second.place.is(Place::Kind::kNone) &&
        !whole->second.place.is(Place::Kind::kElsewhere) &&
        (whole->second.place.maybeOffHost() || !isOfBatch(path)))
      return whole->second;
  }
  return defaultOf(path);
}

// Where one way knows that a device is the host's, and the other does not, it still is what it is.
Value joinAt(const Path &path, const Value &a, const Value &b) {
  Value joined = join(a, b);
  const ValueDecl *decl = declOf(path.last());
  const Place itself = placeOf(path);
  if (decl && isDevice(decl->getType().getNonReferenceType()) &&
      ((a.place == itself && b.place.onHost()) || (b.place == itself && a.place.onHost())))
    joined.place = itself;
  return joined;
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
      into.values[path] = joinAt(path, valueIn(before, path), value);
    else
      found->second = joinAt(path, found->second, value);
  }
  for (auto &[path, value] : into.values)
    if (!from.values.contains(path))
      value = joinAt(path, value, valueIn(from, path));
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

Value defaultOf(const Path &path) {
  const ValueDecl *decl = declOf(path.last());
  if (!decl)
    return {};
  QualType type = decl->getType();
  if (!holdsTensor(type) && !namesDevice(type) && !isModule(type))
    return {};
  const auto *variable = dyn_cast_or_null<VarDecl>(declOf(path.root));
  bool local = variable && variable->isLocalVarDecl() && !variable->isStaticLocal();
  Value value;
  value.place = isOfBatch(path)       ? Place::host()
                : !local              ? placeOf(path)
                : path.fields.empty() ? Place::none()
                                      : Place::elsewhere(path);
  return value;
}

std::string nameOfVariable(const ValueDecl *variable) {
  const auto *taken_apart = dyn_cast<DecompositionDecl>(variable);
  if (!taken_apart)
    return variable->getNameAsString();
  std::string names;
  for (const BindingDecl *part : taken_apart->bindings())
    names += (names.empty() ? "[" : ", ") + part->getNameAsString();
  return names + "]";
}

Value FlowFacts::value(Code expr) const {
  auto found = values_.find(strip(exprOf(expr)));
  return found == values_.end() ? Value() : found->second;
}

Flow::Flow(FlowFacts &facts, ASTContext &context, const FlowOptions &options)
    : facts_(facts), context_(context), options_(options), budget_(kBudget) {}

bool Flow::run(const FunctionDecl *function, Stmt *body, State entry) {
  std::unique_ptr<CFG> graph = buildGraph(function, body, context_);
  if (!graph)
    return in_lambda_;
  // A template's constants are its arguments'. The graph does not know where exceptions come from.
  constants_known_ = options_.constants &&
                     !functionOf(facts_.function)->isTemplateInstantiation() &&
                     graph->try_blocks().empty();
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
      const std::optional<State> out = stateAlong(*blocks[id], taken, *next);
      if (!out)
        continue;
      State &met = entries[next->getBlockID()];
      std::size_t before = met.values.size();
      bool changed = joinInto(met, *out);
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

// What holds behind a branch; none where no run, or only machines without a GPU, come to it.
std::optional<State> Flow::stateAlong(const CFGBlock &block, unsigned way,
                                      const CFGBlock &next) const {
  if (constants_known_ && options_.constants->isNeverTaken(block, way, next))
    return std::nullopt;
  State out = state_;
  if (const auto *condition = dyn_cast_or_null<Expr>(block.getTerminatorCondition(false));
      condition && block.succ_size() == 2) {
    if (meansNoGpu(condition, way == 0))
      return std::nullopt;
    refine(out, condition, way == 0);
  }
  if (const auto *branch = dyn_cast_or_null<SwitchStmt>(block.getTerminatorStmt()))
    refineSwitch(out, branch, next.getLabel());
  return out;
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
    if (const auto device = init ? numberedDevice(init) : std::nullopt)
      state_.values[Path{variable, {}}] = *device;
    return;
  }
  if (variable->getType()->isReferenceType() || variable->isImplicit())
    if (std::optional<Path> target = path(init)) {
      facts_.aliases_[variable] = *target;
      return;
    }
  assign(Path{variable, {}}, init, init);
  // It keeps what the first call was given.
  if (const auto kept = state_.values.find(Path{variable, {}});
      variable->isStaticLocal() && kept != state_.values.end() &&
      (kept->second.place.is(Place::Kind::kOf) || kept->second.place.is(Place::Kind::kElsewhere)))
    kept->second.place = Place::chosen();
}

void Flow::assign(const Path &path, const Expr *value, const Expr *at) {
  Value assigned = facts_.value(value);
  // Text that named a device may name another now.
  if (assigned.place.is(Place::Kind::kNone) && isText(value->getType()) &&
      !load(path).place.is(Place::Kind::kNone))
    assigned.place = Place::unknown();
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
  return valueIn(state_, path);
}

std::optional<Path> FlowFacts::path(const Expr *expr) const {
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

std::unique_ptr<FunctionFacts> analyseFunction(const FunctionDecl *function, ASTContext &context,
                                               const FlowOptions &options) {
  if (!function->doesThisDeclarationHaveABody() || !function->getBody())
    return nullptr;
  auto facts = std::make_unique<FlowFacts>();
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
