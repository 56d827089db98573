// What the host does with a value that it read of a tensor.
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/parents.h"
#include "analyzer/ast/torch_api.h"

#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr int kMaxVariables = 4; // and functions that hold the value one after the other
constexpr std::size_t kMaxMentions = 40;

const VarDecl *initialised(ASTContext &context, const Stmt *part) {
  const DynTypedNodeList parents = context.getParents(*part);
  return parents.empty() ? nullptr : parents[0].get<VarDecl>();
}

// What an lvalue is, or is a part of.
struct Target {
  const ValueDecl *holder = nullptr; // a variable or member
  const ValueDecl *root = nullptr;   // that the member is in; null for `*this`
  bool is_element = false;           // of the holder
};

Target targetOf(const Expr *lvalue) {
  Target target;
  while (true) {
    lvalue = strip(lvalue);
    if (const auto *member = dyn_cast<MemberExpr>(lvalue)) {
      if (!target.holder)
        target.holder = member->getMemberDecl();
      lvalue = member->getBase();
    } else if (const auto *element = dyn_cast<ArraySubscriptExpr>(lvalue)) {
      target.is_element |= !target.holder;
      lvalue = element->getBase();
    } else if (const auto *call = dyn_cast<CXXOperatorCallExpr>(lvalue)) {
      target.is_element |= !target.holder;
      lvalue = call->getArg(0);
    } else if (const auto *get = dyn_cast<CXXMemberCallExpr>(lvalue)) {
      target.is_element |= !target.holder;
      lvalue = get->getImplicitObjectArgument();
    } else {
      const auto *reference = dyn_cast<DeclRefExpr>(lvalue);
      target.root = reference ? reference->getDecl() : nullptr;
      if (!target.holder)
        target.holder = target.root;
      return target;
    }
  }
}

bool isNumber(QualType type) {
  return type.getNonReferenceType()->isArithmeticType();
}

bool isScalar(QualType type) {
  const CXXRecordDecl *record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record && isTorchDecl(record) && record->getName() == "Scalar";
}

bool hasWord(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> words) {
  return llvm::any_of(words, [&](llvm::StringRef word) { return name.contains_insensitive(word); });
}

// A method that adds to a container, or to what counts and averages.
bool gathersInto(const CXXMethodDecl *method) {
  if (!method || !hasWord(nameOf(method), {"push", "emplace", "append", "add", "insert", "update",
                                           "accumulate", "record"}))
    return false;
  const CXXRecordDecl *owner = method->getParent();
  return owner->isInStdNamespace() ||
         hasWord(owner->getName(),
                 {"meter", "average", "mean", "stat", "metric", "history", "record", "accum"});
}

// What a container tells of itself, not of its elements.
bool asksNoValue(const CXXMethodDecl *method) {
  return method && llvm::is_contained({"size", "empty", "reserve", "clear", "resize", "capacity"},
                                      nameOf(method));
}

// It prints, logs or plots, as far as its name tells.
bool isDisplay(const FunctionDecl *callee) {
  return callee &&
         hasWord(nameOf(callee), {"print", "log", "puts", "info", "debug", "trace", "show",
                                  "report", "plot", "scalar", "write", "progress"});
}

// `std::sqrt(x)`, which may be the C library's.
bool computesNumber(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  return callee && !isa<CXXMethodDecl>(callee) && isNumber(call->getType()) &&
         (callee->isInStdNamespace() || callee->getBuiltinID() ||
          (callee->isExternC() && callee->getNumParams() > 0 &&
           llvm::all_of(callee->parameters(), [](const ParmVarDecl *parameter) {
             return parameter->getType()->isFloatingType();
           })));
}

bool makesObject(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  return callee && callee->isInStdNamespace() &&
         llvm::is_contained({"make_pair", "make_tuple", "move", "forward"}, nameOf(callee));
}

// `x[0] = …`: a place of its own, which others look at.
bool hasConstantIndex(const ASTContext &context, const Expr *lvalue) {
  return contains(lvalue, [&](const Stmt *part) {
    const auto *element = dyn_cast<ArraySubscriptExpr>(part);
    const auto *op = dyn_cast<CXXOperatorCallExpr>(part);
    const Expr *index = element                                   ? element->getIdx()
                        : op && op->getOperator() == OO_Subscript ? op->getArg(1)
                                                                  : nullptr;
    return index && !index->isValueDependent() && index->isEvaluatable(context);
  });
}

class Uses {
public:
  Uses(ASTContext &context, DeviceModel &model, const FunctionDecl *function, const Expr *read)
      : context_(context), model_(model), function_(function), loop_(model.loopAround(read)) {
    is_size_ = read->getType()->isIntegralOrEnumerationType();
    follow(read, kMaxVariables);
  }
  // Of what a function called there returns.
  Uses(ASTContext &context, DeviceModel &model, const FunctionDecl *function, const Expr *call,
       int depth)
      : context_(context), model_(model), function_(function), loop_(model.loopAround(call)) {
    if (loop_)
      follow(call, depth);
  }

  HostUse result() const {
    if (is_other_ || !(gathers_ || shows_ || is_seldom_ || computes_))
      return HostUse::kOther;
    return shows_      ? HostUse::kShown
           : gathers_  ? HostUse::kGathered
           : computes_ ? HostUse::kTensors
                       : HostUse::kSeldom;
  }

private:
  // In this function: in the loop that reads, or all of it where a caller has the loop.
  const Stmt *turn() const { return loop_ ? loop_ : function_->getBody(); }

  bool isInTurn(const Stmt *part) {
    const Stmt *around = loop_ ? model_.loopAround(part) : nullptr;
    while (around && around != loop_)
      around = model_.loopAround(around);
    return around == loop_;
  }

  // Every so many turns, or in the last one.
  bool isSeldom(const Expr *part) {
    return loop_ ? !model_.onEachTurn(part, function_) : !model_.onEachRun(part, function_);
  }

  // `expr` has the value.
  void follow(const Expr *expr, int depth) {
    if (!isInTurn(expr)) {
      gathers_ = true; // the last one is used, after the loop
      return;
    }
    if (isSeldom(expr)) {
      is_seldom_ = true;
      return;
    }
    const Stmt *part = expr;
    while (const Stmt *parent = directParent(context_, part)) {
      if (!isPassedOn(part, parent))
        return end(part, parent, depth);
      part = parent;
      if (const auto *value = dyn_cast<Expr>(part); value && isNumber(value->getType()))
        is_size_ = value->getType()->isIntegralOrEnumerationType();
    }
    const VarDecl *variable = initialised(context_, part);
    if (!variable || !holdsValue(variable->getType()) || depth == 0)
      is_other_ = true;
    else
      followVariable(variable, depth - 1);
  }

  static bool holdsValue(QualType type) {
    return isNumber(type) || isScalar(type) || isTensor(type.getNonReferenceType());
  }

  // The parent's value is computed of the part's, or made of it.
  static bool isPassedOn(const Stmt *part, const Stmt *parent) {
    if (isa<CastExpr, ParenExpr, MaterializeTemporaryExpr, ExprWithCleanups, CXXBindTemporaryExpr,
            CXXConstructExpr, InitListExpr, MemberExpr>(parent))
      return true;
    if (const auto *unary = dyn_cast<UnaryOperator>(parent))
      return unary->isArithmeticOp() && unary->getOpcode() != UO_LNot;
    if (const auto *binary = dyn_cast<BinaryOperator>(parent))
      return binary->isMultiplicativeOp() || binary->isAdditiveOp();
    if (const auto *call = dyn_cast<CXXMemberCallExpr>(parent))
      return call->getCallee() == part && isNumber(call->getType()); // item().toFloat()
    if (const auto *choice = dyn_cast<ConditionalOperator>(parent))
      return part != choice->getCond();
    const auto *call = dyn_cast<CallExpr>(parent);
    return call && part != call->getCallee() && (computesNumber(call) || makesObject(call));
  }

  // A statement of its own.
  static bool isDropped(const Stmt *part, const Stmt *parent) {
    if (const auto *counted = dyn_cast<ForStmt>(parent))
      return part == counted->getBody() || part == counted->getInc();
    if (const auto *branch = dyn_cast<IfStmt>(parent))
      return part != branch->getCond();
    if (const auto *ranged = dyn_cast<CXXForRangeStmt>(parent))
      return part == ranged->getBody();
    if (const auto *loop = dyn_cast<WhileStmt>(parent))
      return part == loop->getBody();
    return isa<CompoundStmt>(parent);
  }

  void end(const Stmt *part, const Stmt *parent, int depth) {
    if (const auto *binary = dyn_cast<BinaryOperator>(parent);
        binary && binary->isAssignmentOp() && part == binary->getRHS())
      return assign(binary, depth);
    if (isDropped(part, parent)) {
      is_seldom_ = true;
      return;
    }
    if (const auto *value = dyn_cast<Expr>(part); value && isTensor(value->getType())) {
      is_other_ = true;
      return;
    }
    if (isa<ReturnStmt>(parent))
      return followCallers(depth);
    const auto *call = dyn_cast<CallExpr>(parent);
    if (!call || part == call->getCallee()) {
      is_other_ = true;
      return;
    }
    const FunctionDecl *callee = call->getDirectCallee();
    if (const auto *op = dyn_cast<CXXOperatorCallExpr>(call)) {
      if (op->getOperator() == OO_LessLess)
        shows_ = true;
      else if (op->isAssignmentOp() && op->getOperator() != OO_Equal && part == op->getArg(1))
        gather(targetOf(op->getArg(0)));
      else if (callee && isTorchDecl(callee))
        compute(part, call);
      else
        is_other_ = true;
    } else if (callee && isTorchDecl(callee)) {
      compute(part, call);
    } else if (const auto *method = dyn_cast<CXXMemberCallExpr>(call);
               method && gathersInto(method->getMethodDecl())) {
      gather(targetOf(method->getImplicitObjectArgument()));
    } else if (isDisplay(callee)) {
      shows_ = true;
    } else {
      is_other_ = true;
    }
  }

  // Who calls this in a loop has the value.
  void followCallers(int depth) {
    const auto callers = model_.callersOf(function_);
    is_other_ |= loop_ || depth == 0 || callers.empty();
    for (const FileScan::Caller &caller : callers) {
      if (is_other_)
        return;
      const HostUse use =
          Uses(context_, model_, caller.function, cast<Expr>(caller.call), depth - 1).result();
      is_other_ |= use != HostUse::kGathered && use != HostUse::kSeldom;
      gathers_ = true;
    }
  }

  // Sizes and indices are the host's.
  void compute(const Stmt *part, const CallExpr *call) {
    (is_size_ || holdsTensor(cast<Expr>(part)->getType().getNonReferenceType()) ||
             !holdsTensor(call->getType().getNonReferenceType())
         ? is_other_
         : computes_) = true;
  }

  void assign(const BinaryOperator *assignment, int depth) {
    const Target target = targetOf(assignment->getLHS());
    const bool adds =
        assignment->isCompoundAssignmentOp() ||
        (target.is_element && loop_ && !hasConstantIndex(context_, assignment->getLHS())) ||
        (target.holder && names(assignment->getRHS(), target.holder));
    const auto *variable = dyn_cast_or_null<VarDecl>(target.holder);
    if (adds)
      gather(target);
    else if (variable && variable->isLocalVarDecl() && isNumber(variable->getType()) && depth > 0)
      followVariable(variable, depth - 1);
    else
      is_other_ = true;
  }

  bool isOfThisTurn(const ValueDecl *root) const {
    const auto *variable = dyn_cast_or_null<VarDecl>(root);
    if (!variable || !variable->hasLocalStorage())
      return false;
    return !loop_ || contains(loop_, [&](const Stmt *part) {
      const auto *declaration = dyn_cast<DeclStmt>(part);
      return declaration && llvm::is_contained(declaration->decls(), variable);
    });
  }

  // Nothing else of this turn may want what is gathered.
  void gather(const Target &target) {
    gathers_ = true;
    is_other_ |= !target.holder || isOfThisTurn(target.root);
    if (is_other_ || !holders_.insert(target.holder).second)
      return;
    is_other_ = contains(turn(), [&](const Stmt *part) {
      const auto *mention = dyn_cast<Expr>(part);
      if (!mention)
        return false;
      if (isNameOf(mention, target.holder))
        return !isGatheredInto(mention, target.holder) && !isSeldom(mention);
      // `stats.loss += …; if (stop(stats))`, `total_ += …; if (done())`
      return target.root ? target.root != target.holder && isNameOf(mention, target.root) &&
                               !isa_and_nonnull<MemberExpr>(directParent(context_, mention)) &&
                               !isSeldom(mention)
                         : decidesByThis(mention);
    });
  }

  // A condition asks the object.
  bool decidesByThis(const Expr *mention) const {
    const auto *call = dyn_cast<CXXMemberCallExpr>(mention);
    if (!call || !isa<CXXThisExpr>(call->getImplicitObjectArgument()->IgnoreParenImpCasts()))
      return false;
    const Stmt *part = mention;
    for (const Stmt *parent; (parent = directParent(context_, part)); part = parent)
      if (!isa<Expr>(parent)) {
        const auto *branch = dyn_cast<IfStmt>(parent);
        const auto *loop = dyn_cast<WhileStmt>(parent);
        return (branch && branch->getCond() == part) || (loop && loop->getCond() == part);
      }
    return false;
  }

  // `total += …`, `total = total + …`, `losses.push_back(…)`, `losses[i] = …`
  bool isGatheredInto(const Expr *mention, const ValueDecl *holder) const {
    for (const Stmt *part = mention, *parent; (parent = directParent(context_, part));
         part = parent) {
      if (const auto *binary = dyn_cast<BinaryOperator>(parent); binary && binary->isAssignmentOp())
        return targetOf(binary->getLHS()).holder == holder;
      if (const auto *op = dyn_cast<CXXOperatorCallExpr>(parent); op && op->isAssignmentOp())
        return targetOf(op->getArg(0)).holder == holder;
      if (const auto *step = dyn_cast<UnaryOperator>(parent);
          step && step->isIncrementDecrementOp())
        return true;
      if (const auto *call = dyn_cast<CXXMemberCallExpr>(parent);
          call && (gathersInto(call->getMethodDecl()) || asksNoValue(call->getMethodDecl())))
        return targetOf(call->getImplicitObjectArgument()).holder == holder;
      if (!isa<Expr>(parent))
        return false;
    }
    return false;
  }

  void followVariable(const VarDecl *variable, int depth) {
    if (is_other_ || !holders_.insert(variable).second)
      return;
    std::vector<const Expr *> mentions;
    contains(function_->getBody(), [&](const Stmt *part) {
      if (isa<Expr>(part) && isNameOf(part, variable))
        mentions.push_back(cast<Expr>(part));
      return false;
    });
    is_other_ |= mentions.size() > kMaxMentions;
    for (const Expr *mention : mentions)
      if (is_other_)
        return;
      else if (const auto *set = dyn_cast_or_null<BinaryOperator>(directParent(context_, mention));
               !set || !set->isAssignmentOp() || set->getLHS() != mention)
        follow(mention, depth);
    is_seldom_ |= mentions.empty();
  }

  ASTContext &context_;
  DeviceModel &model_;
  const FunctionDecl *function_;
  const Stmt *loop_;
  llvm::SmallPtrSet<const ValueDecl *, 4> holders_; // that were looked at
  bool is_size_ = false;                            // the value is an integer
  bool gathers_ = false, shows_ = false, is_seldom_ = false, computes_ = false, is_other_ = false;
};

} // namespace

HostUse SourceProgram::hostUse(Code read, Function function) {
  return Uses(context(), *model_, functionOf(function), exprOf(read)).result();
}

} // namespace devsan::analyzer
